#include "cli/commands.h"

int main(int argc, char** argv) { return coli::RunProgram(argc, argv); }
