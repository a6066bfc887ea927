#!/usr/bin/env python3
"""coli info, validate, config and options: facts about model, machine and settings."""

import json

import program

CASE_KEYS = [
    "name", "positions", "matches", "greedy_tokens", "greedy_matches", "mtp_positions", "mtp_matches",
    "max_logit_error_over_range", "logits_hash", "first_mismatch",
]


class ValidateTest(program.ProgramTest):
    def validate(self, *arguments):
        done = self.coli("validate", "--json", *arguments)
        self.assertEqual(done.stderr, "")
        return done.returncode, json.loads(done.stdout)

    def test_json_has_exactly_the_documented_keys(self):
        status, report = self.validate(program.SOURCE / "tests/golden/t0")
        self.assertEqual(status, 0)
        self.assertEqual(list(report), ["ok", "cases"])
        self.assertIs(report["ok"], True)
        for case in report["cases"]:
            self.assertEqual(list(case), CASE_KEYS)
            self.assertEqual(case["matches"], case["positions"])
            self.assertRegex(case["logits_hash"], r"^[0-9a-f]{16}$")
            self.assertIsNone(case["first_mismatch"])

    def test_layers_are_added_on_request(self):
        _, report = self.validate("--layers", program.SOURCE / "tests/golden/t0")
        for case in report["cases"]:
            self.assertEqual(list(case), [*CASE_KEYS, "layers"])

    def test_hashes_do_not_depend_on_the_machine_settings(self):
        directory = program.SOURCE / "tests/golden/t0"
        _, expected = self.validate(directory)
        for words in ("--threads 1", "--isa scalar", "--prefill-chunk 1", "--cache-experts 1", "--ram 1G"):
            _, report = self.validate(*words.split(), directory)
            self.assertEqual(report, expected, words)

    def test_a_difference_is_a_failure_with_its_place(self):
        model = self.copy_model("tests/golden/t0")
        reference = json.loads((model / "reference.json").read_text())
        reference["tolerance"]["logit_error_over_range"] = 0
        (model / "reference.json").write_text(json.dumps(reference))
        done = self.coli("validate", model)
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED", done.stdout)
        self.assertIn("differs from the reference", done.stdout)
        status, report = self.validate(model)
        self.assertEqual((status, report["ok"]), (1, False))

    def test_a_directory_without_a_reference(self):
        self.assert_error(self.coli("validate", program.SOURCE / "models/nano"), "reference.json")


class InfoTest(program.ProgramTest):
    def test_the_built_in_model(self):
        done = self.coli("info", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        info = json.loads(done.stdout)
        model = info["model"]
        self.assertTrue(model["built_in"])
        self.assertEqual((model["type"], model["layers"], model["experts_per_layer"]), ("glm_moe_dsa", 6, 32))
        self.assertEqual(model["indexer_schedule"], "2F S F 2S")
        self.assertIn("int4-g64", model["formats"]["experts"])
        self.assertIn("int8-row", model["formats"]["attention"])
        stored = sum(size for by_format in model["formats"].values() for size in by_format.values())
        self.assertLess(stored, model["file_bytes"])
        self.assertGreater(stored, 0.9 * model["file_bytes"])
        self.assertIn(info["machine"]["isa"], info["machine"]["isas"])
        self.assertIn("scalar", info["machine"]["isas"])
        text = self.coli("info").stdout
        for word in ("glm_moe_dsa", "experts", "instructions", "available"):
            self.assertIn(word, text)

    def test_formats_to_hold_weights_in(self):
        held = ("--expert-format", "int4-g64", "--dense-format", "int8-row")
        info = json.loads(self.coli("info", "tests/golden/t0", "--json", *held).stdout)
        self.assertEqual(list(info["model"]["formats"]["experts"]), ["int4-g64"])
        self.assertIn("int8-row", info["model"]["formats"]["attention"])
        self.assertEqual(list(info["model"]["formats"]["router"]), ["bf16", "f32"])
        unknown = self.coli("info", "--expert-format", "int4")
        self.assert_error(unknown, "--expert-format", "int4-g64", 'found "int4"', status=2)
        refused = self.coli("run", "--expert-format", "int8-row", "hello")
        self.assert_error(refused, "experts", "found int4-g64", "not quantised again")


class ConfigTest(program.ProgramTest):
    def test_explain_shows_where_values_come_from(self):
        folder = self.home / "config/colibri"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text('top-k = 5\nsystem = "Be kind."\nthreads = 3\n')
        environment = {"XDG_CONFIG_HOME": str(self.home / "config"), "COLI_THREADS": "2"}
        done = self.coli("config", "explain", "--min-p", "0.5", environment=environment)
        lines = {line.split()[0]: line for line in done.stdout.splitlines()}
        self.assertRegex(lines["top-k"], r"5 +file: .*config.toml:1")
        self.assertRegex(lines["threads"], r"2 +environment: COLI_THREADS")
        self.assertRegex(lines["min-p"], r"0.5 +flag: --min-p")
        self.assertRegex(lines["temp"], r"0.7 +model: generation_config.json")
        self.assertRegex(lines["think"], r"off +default")
        self.assertRegex(lines["ram"], r"- +not set")

    def test_the_documentation_of_options_is_up_to_date(self):
        self.assertEqual(self.coli("options", "--markdown").stdout, (program.SOURCE / "docs/options.md").read_text())


if __name__ == "__main__":
    program.main()
