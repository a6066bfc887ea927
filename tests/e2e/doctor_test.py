#!/usr/bin/env python3
"""coli doctor and coli estimate: what is wrong and what to do; how fast a model would be before it is here."""

import json

import program


class DoctorTest(program.ProgramTest):
    def doctor(self, *arguments, status=0):
        done = self.coli("doctor", "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        report = json.loads(done.stdout)
        self.assertIs(report["ok"], status == 0)
        for check in report["checks"]:
            self.assertIn(check["verdict"], ("ok", "warn", "fail"))
            self.assertTrue(check["found"], check)
            self.assertEqual(bool(check["advice"]), check["verdict"] != "ok", check)
        return {check["check"]: check for check in report["checks"]}

    def test_the_built_in_model_runs_here(self):
        checks = self.doctor()
        for name in ("model.config", "model.files", "model.tensors", "model.drafts", "memory.plan", "cpu", "state"):
            self.assertEqual(checks[name]["verdict"], "ok", checks[name])
        text = self.coli("doctor").stdout
        for word in ("model.files", "drive.system", "kernel.io_uring", "memory.swap"):
            self.assertIn(word, text)

    def test_the_state_directory_is_the_one_that_is_named(self):
        self.assertIn(".local/state/colibri", self.doctor()["state"]["found"])
        self.assertEqual(self.doctor("--state-dir", self.home / "mine")["state"]["found"], str(self.home / "mine"))
        self.assertNotIn("state", self.doctor("--state-dir", "none"))

    def test_a_directory_that_is_no_model(self):
        checks = self.doctor(self.home / "nothing", status=1)
        self.assertEqual(checks["model.config"]["verdict"], "fail")
        self.assertIn("nothing", checks["model.config"]["found"])
        self.assertNotIn("model.tensors", checks)

    def test_a_file_that_was_cut_short(self):
        model = self.copy_model("models/nano")
        file = model / "out-00000.safetensors"
        file.write_bytes(file.read_bytes()[:-100])
        checks = self.doctor(model, status=1)
        self.assertEqual(checks["model.files"]["verdict"], "fail")
        self.assertIn("out-00000.safetensors", checks["model.files"]["found"])

    def test_a_model_without_its_indexer(self):
        model = self.copy_model("models/nano")
        for file in model.glob("*.safetensors"):
            header, data = program.read_safetensors(file)
            renamed = {name.replace(".indexer.", ".other."): entry for name, entry in header.items()}
            program.write_safetensors(file, renamed, data)
        checks = self.doctor(model, status=1)
        self.assertEqual(checks["model.tensors"]["verdict"], "fail")
        self.assertIn("indexer", checks["model.tensors"]["advice"])

    def test_a_download_that_did_not_end(self):
        model = self.copy_model("models/nano")
        (model / "out-00009.safetensors.incomplete").write_bytes(b"x")
        checks = self.doctor(model)
        self.assertEqual(checks["model.download"]["verdict"], "warn")
        self.assertIn("out-00009", checks["model.download"]["found"])

    def test_files_of_two_revisions(self):
        model = self.copy_model("models/nano")
        notes = model / ".cache/huggingface/download"
        notes.mkdir(parents=True)
        (notes / "a.safetensors.metadata").write_text("0123456789abcdef\nx\n")
        (notes / "b.safetensors.metadata").write_text("fedcba9876543210\nx\n")
        checks = self.doctor(model)
        self.assertEqual(checks["model.revision"]["verdict"], "warn")
        self.assertIn("0123456789ab, fedcba987654", checks["model.revision"]["found"])

    def test_a_model_without_its_layer_for_drafts(self):
        model = self.copy_model("models/nano")
        (model / "out-mtp-00000.safetensors").unlink()
        self.assertEqual(self.doctor(model)["model.drafts"]["verdict"], "warn")

    def test_a_budget_that_is_too_small_fails(self):
        self.assertEqual(self.doctor("--ram", "10M", status=1)["memory.plan"]["verdict"], "fail")


class EstimateTest(program.ProgramTest):
    def test_every_container_and_budget(self):
        done = self.coli("estimate", "--json", "--disk", self.home)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        containers = {row["experts"]: row for row in report["containers"]}
        row = containers["int4-row"]
        # 753 G weights: experts in half a byte, all else in a byte.
        self.assertGreater(row["download_bytes"], 370e9)
        self.assertLess(row["download_bytes"], 400e9)
        self.assertGreater(containers["int8-row"]["download_bytes"], 740e9)
        self.assertFalse(row["budgets"][0]["ok"])  # 16 GiB: what every token uses alone is more
        fitting = [budget for budget in row["budgets"] if budget["ok"]]
        self.assertGreater(len(fitting), 3)
        speeds = [budget["tokens_per_second"] for budget in fitting]
        self.assertEqual(speeds, sorted(speeds))
        self.assertEqual(fitting[-1]["hit_rate"], 1)  # 512 GiB hold them all
        self.assertEqual(fitting[-1]["limit"], "reading memory")
        self.assertFalse(list(self.home.glob("*coli-bench*")))

    def test_one_budget_as_a_table(self):
        done = self.coli("estimate", "--ram", "64G", "--disk", self.home, "--prompt-tokens", "100")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"experts int4-row: 3\d\d GiB to download")
        self.assertRegex(done.stdout, r"64\.0 GiB +\d+ % +\d+ % +[0-9.]+ tok/s")
        self.assertIn("first of 100 tokens", done.stdout)

    def test_what_cannot_be_measured_is_an_error(self):
        done = self.coli("estimate", "-q", "--disk", self.home / "none")
        self.assert_error(done, "none")
        self.assert_error(self.coli("estimate", "--for", "other"), "--for", "glm-5.2", status=2)


if __name__ == "__main__":
    program.main()
