"""Checks the rules of the tree (rules.py) on the tree, and each rule on violations planted for it.

Usage: tree_test.py ROOT [unittest's arguments]
"""

import sys
import unittest
from pathlib import Path

import layers
import readmes
import rules

ROOT = Path(".")


def guarded(path, body=""):
    guard = "WARPFOLD_" + "".join(c if c.isalnum() else "_" for c in path.upper()) + "_"
    return f"#ifndef {guard}\n#define {guard}\n{body}\n#endif  // {guard}\n"


def found(rule, files):
    return list(rules.findings(rules.Tree(files), [rule], []))


def found_in_folders(rule, files, others=()):
    return list(rules.findings(rules.Tree(files, frozenset(others)), [], [rule]))


class TheTree(unittest.TestCase):
    def test_follows_every_rule(self):
        tree = rules.Tree.read(ROOT)
        self.assertGreater(len(tree.files), 10, f"{ROOT} does not look like the project")
        wrong = list(rules.findings(tree))
        if wrong:
            self.fail("\n" + "\n".join(wrong))

    def test_every_folder_with_a_rule_of_its_own_is_there(self):
        tree = rules.Tree.read(ROOT)
        for folder in (*readmes.WITHOUT_README, *readmes.LONG_READMES):
            with self.subTest(folder=folder):
                self.assertTrue(tree.has(folder))


class IncludeEdges(unittest.TestCase):
    # (file, an #include that it must not have)
    FORBIDDEN = [
        ("kernels/a.cc", "server/core/b.h"),
        ("kernels/a.h", "grpcpp/grpcpp.h"),
        ("kernels/a.cc", "google/protobuf/message.h"),
        ("kernels/a.cc", "spdlog/spdlog.h"),
        ("kernels/a.cc", "prometheus/counter.h"),
        ("kernels/a.cc", "client/cpp/client.h"),
        ("kernels/a.h", "cuda_runtime.h"),
        ("kernels/cpu/a.cc", "cuda_fp16.h"),
        ("kernels/cuda/a.cu", "warpfold/v1/reduction.pb.h"),
        ("kernels/cuda/a.cu", "spdlog/spdlog.h"),
        ("tests/gpu/a.cu", "grpcpp/grpcpp.h"),
        ("bench/kernels/a.cuh", "google/protobuf/arena.h"),
        ("server/core/a.cc", "grpc/grpc.h"),
        ("server/core/a.cc", "warpfold/v1/reduction.pb.h"),
        ("server/core/a.cc", "cuda.h"),
        ("server/core/a.cc", "cuda_runtime_api.h"),
        ("server/core/a.h", "server/frontend/b.h"),
        ("server/device/a.h", "grpcpp/server.h"),
        ("server/device/cuda/a.cc", "prometheus/gauge.h"),
        ("server/device/a.cc", "cuda_runtime.h"),
        ("server/device/cpu/a.cc", "cub/cub.cuh"),
        ("server/observe/a.cc", "grpcpp/grpcpp.h"),
        ("server/observe/a.cc", "inference/grpc_service.pb.h"),
        ("server/observe/a.cc", "nvml.h"),
        ("server/server.cc", "grpcpp/server_builder.h"),
        ("server/main.cc", "google/rpc/status.pb.h"),
        ("server/main.cc", "client/cpp/client.h"),
        ("server/core/a.cc", "tests/server/fake.h"),
        ("client/cpp/a.cc", "server/config.h"),
        ("client/cpp/a.cc", "bench/service/b.h"),
        ("tests/kernels/exact/oracle.h", "kernels/exact/words.h"),
        ("tests/kernels/exact/reduction_oracle.h", "kernels/exact/state.h"),
        ("tests/kernels/exact/reduction_oracle.cc", "kernels/components.h"),
    ]
    ALLOWED = [
        ("kernels/cuda/a.cu", "cuda_runtime.h"),
        ("kernels/cuda/a.h", "cuda_runtime_api.h"),
        ("kernels/a.cc", "absl/status/status.h"),
        ("server/core/a.cc", "kernels/plan.h"),
        ("server/device/cuda/a.cc", "cuda_runtime_api.h"),
        ("server/frontend/a.cc", "grpcpp/grpcpp.h"),
        ("server/frontend/a.cc", "warpfold/v1/reduction.pb.h"),
        ("server/frontend/kserve/a.cc", "inference/grpc_service.pb.h"),
        ("server/server.cc", "server/frontend/b.h"),
        ("server/observe/a.cc", "prometheus/counter.h"),
        ("client/cpp/a.cc", "grpcpp/grpcpp.h"),
        ("client/cpp/a.cc", "kernels/types.h"),
        ("tests/e2e/a.cc", "grpcpp/grpcpp.h"),
        ("bench/service/a.cc", "server/config.h"),
        ("tests/kernels/exact/a_test.cc", "kernels/exact/state.h"),
        ("tests/kernels/exact/reduction_oracle.cc", "kernels/types.h"),
    ]

    def test_each_forbidden_include_is_found(self):
        for path, name in self.FORBIDDEN:
            for line in (
                f'#include "{name}"',
                f"#include <{name}>",
                f"  #  include <{name}>  // why",
            ):
                with self.subTest(path=path, line=line):
                    self.assertTrue(found(rules.include_edges, {path: line + "\n"}))

    def test_what_is_allowed_stays_allowed(self):
        for path, name in self.ALLOWED:
            with self.subTest(path=path, name=name):
                self.assertFalse(found(rules.include_edges, {path: f'#include "{name}"\n'}))

    def test_an_include_through_our_own_headers_is_found(self):
        files = {
            "server/core/scheduler.cc": '#include "server/device/executor.h"\n',
            "server/device/executor.h": '#include "server/device/cuda/stream.h"\n',
            "server/device/cuda/stream.h": "#include <cuda_runtime.h>\n",
        }
        self.assertIn(
            "server/core/scheduler.cc: includes CUDA: server/core/scheduler.cc -> "
            "server/device/executor.h -> server/device/cuda/stream.h -> cuda_runtime.h",
            found(rules.include_edges, files),
        )

    def test_a_comment_is_no_include(self):
        self.assertFalse(
            found(rules.include_edges, {"kernels/a.cc": "// never #include <grpcpp/grpcpp.h>\n"})
        )


class OtherRules(unittest.TestCase):
    def test_waiting_cuda_calls_are_found(self):
        for call in (
            "cudaDeviceSynchronize()",
            "cudaMemcpy(a, b, n, kind)",
            "cudaMemset (p, 0, n)",
        ):
            for path in ("server/device/cuda/a.cc", "kernels/cuda/a.cu"):
                with self.subTest(call=call, path=path):
                    self.assertTrue(
                        found(rules.waiting_cuda_calls, {path: f"int x;\n  Check({call});\n"})
                    )
        for path, text in (
            ("server/device/cuda/a.cc", "cudaMemcpyAsync(a, b, n, kind, stream);\n"),
            (
                "server/device/cuda/a.cc",
                "// not cudaDeviceSynchronize(): it waits for every stream\n",
            ),
            ("server/device/cuda/a.cc", 'Log("cudaMemcpy(");\n'),
            ("tests/gpu/a.cc", "cudaDeviceSynchronize();\n"),
        ):
            with self.subTest(path=path, text=text):
                self.assertFalse(found(rules.waiting_cuda_calls, {path: text}))

    def test_matches_on_the_texts_of_errors_are_found(self):
        for text in (
            'if (absl::StartsWith(status.message(), "ops:")) return;\n',
            'if (absl::StrContains(\n    spec.status().message(), kShape)) return;\n',
            'if (StartsWith(status.error_message(), "starting: ")) return;\n',
            'const std::string why(plan.status().message());\nif (absl::StartsWith(why, k)) f();\n',
            "absl::string_view rest = status.message();\nabsl::ConsumePrefix(&rest, kOps);\n",
            'if (status.message() == "lost") return;\n',
            'if (kLost != status.message()) return;\n',
            'if (status.message().find("lost") != npos) return;\n',
            'const auto text = status.message();\nif (text.substr(0, 4) == "ops:") return;\n',
        ):
            with self.subTest(text=text):
                self.assertTrue(found(rules.matches_on_error_texts, {"server/core/a.cc": text}))
                self.assertFalse(found(rules.matches_on_error_texts, {"tests/a.cc": text}))
        for text in (
            "return absl::Status(status.code(), absl::StrCat(name, status.message()));\n",
            "if (absl::StartsWith(name, kPrefix)) return Wrong(status.message());\n",
            "const std::string why(status.message());\nlog.Write(why);\nif (a == b) return;\n",
            '// absl::StartsWith(status.message(), "ops:")\n',
        ):
            with self.subTest(text=text):
                self.assertFalse(found(rules.matches_on_error_texts, {"server/core/a.cc": text}))

    def test_a_wrong_header_guard_is_found(self):
        self.assertFalse(
            found(rules.header_guards, {"server/core/a_b.h": guarded("server/core/a_b.h")})
        )
        self.assertFalse(
            found(rules.header_guards, {"kernels/cuda/a.cuh": guarded("kernels/cuda/a.cuh")})
        )
        for text in (
            guarded("server/a_b.h"),
            "#pragma once\n",
            guarded("server/core/a_b.h").replace("#endif  // ", "#endif // "),
        ):
            with self.subTest(text=text):
                self.assertTrue(found(rules.header_guards, {"server/core/a_b.h": text}))

    def test_a_header_of_each_simd_target_has_a_guard_of_its_own(self):
        path = "kernels/cpu/a-inl.h"
        toggled = guarded(path).replace(
            "#ifndef WARPFOLD_KERNELS_CPU_A_INL_H_\n",
            "#if defined(WARPFOLD_KERNELS_CPU_A_INL_H_) == defined(HWY_TARGET_TOGGLE)\n",
        )
        self.assertFalse(found(rules.header_guards, {path: toggled}))
        self.assertTrue(found(rules.header_guards, {path: guarded(path)}))

    def test_a_long_file_is_found(self):
        self.assertFalse(found(rules.file_length, {"server/a.cc": "\n" * rules.SOURCE_LINES_MAX}))
        self.assertTrue(
            found(rules.file_length, {"server/a.cc": "\n" * (rules.SOURCE_LINES_MAX + 1)})
        )
        most = rules.KERNEL_LINES_MAX
        self.assertFalse(found(rules.file_length, {"kernels/a.h": "\n" * most}))
        self.assertTrue(found(rules.file_length, {"kernels/a.h": "\n" * (most + 1)}))
        for path, most in rules.SOURCE_LINES_MAX_OF.items():
            self.assertFalse(found(rules.file_length, {path: "\n" * most}))
            self.assertTrue(found(rules.file_length, {path: "\n" * (most + 1)}))

    def test_a_file_that_a_program_made_may_be_long(self):
        head = '"""Names. Made by tools/make.py; not to be edited."""\n'
        long = head + "\n" * rules.SOURCE_LINES_MAX
        tree = {"tools/make.py": ""}
        self.assertFalse(found(rules.file_length, tree | {"client/a.py": long}))
        for wrong in (
            long.replace("tools/make.py", "tools/nothing.py"),
            long.replace("; not to be edited", ""),
            "\n" + long,
            '"""Made by people."""\n' + long[len(head) :],
        ):
            with self.subTest(head=wrong[:60]):
                self.assertTrue(found(rules.file_length, tree | {"client/a.py": wrong}))

    def test_a_time_of_build_is_found(self):
        for name in ("__DATE__", "__TIME__", "__TIMESTAMP__"):
            self.assertTrue(found(rules.time_of_build, {"a.cc": f"Log({name});\n"}))
            self.assertFalse(found(rules.time_of_build, {"a.cc": f"// {name}\n"}))
        self.assertFalse(found(rules.time_of_build, {"a.cc": "Log(__LINE__);\n"}))

    def test_untidy_white_space_is_found(self):
        self.assertFalse(found(rules.white_space, {"a.cc": "int a;\n"}))
        for text in ("\tint a;\n", "int a; \n", "int a;", "int a;\n\n"):
            with self.subTest(text=text):
                self.assertTrue(found(rules.white_space, {"a.cc": text}))

    def test_a_wide_script_is_found(self):
        line = "#" * rules.COLUMNS_MAX
        self.assertFalse(found(rules.script_width, {"a.sh": line + "\n"}))
        self.assertTrue(found(rules.script_width, {"a.sh": line + "#\n"}))
        self.assertTrue(found(rules.script_width, {"a.py": line + "#\n"}))

    def test_a_link_to_nowhere_is_found(self):
        tree = {"docs/a.md": "# A\n## Of `b`: 1, 2\n## Twice\n## Twice\n", "server/a.h": ""}
        for good in (
            "a.md",
            "../server/a.h",
            "../server",
            "../server/",
            "a.md#of-b-1-2",
            "a.md#twice-1",
            "https://x#y",
        ):
            with self.subTest(target=good):
                self.assertFalse(
                    found(rules.page_links, tree | {"docs/b.md": f"See [b]({good}).\n"})
                )
        self.assertFalse(found(rules.page_links, {"docs/b.md": "## Own\nSee [b](#own).\n"}))
        for bad in ("b/a.md", "server/a.h", "../serve", "a.md#b", "a.md#twice-2", "#b"):
            with self.subTest(target=bad):
                self.assertTrue(found(rules.page_links, tree | {"docs/b.md": f"See [b]({bad}).\n"}))

    def test_a_default_over_our_enum_is_found(self):
        body = "switch (op) {\n  case Op::kSum:\n    return 1;\n  %s\n}\n"
        self.assertTrue(
            found(
                rules.default_in_switch_over_own_enum, {"kernels/a.cc": body % "default: return 2;"}
            )
        )
        self.assertFalse(found(rules.default_in_switch_over_own_enum, {"kernels/a.cc": body % ""}))
        theirs = (
            "switch (code) {\n  case absl::StatusCode::kOk: return 1;\n  default: return 2;\n}\n"
        )
        self.assertFalse(found(rules.default_in_switch_over_own_enum, {"kernels/a.cc": theirs}))
        own_inside_other = (
            "switch (n) {\n  case 1: {\n" + body % "" + "  }\n  default: return 3;\n}\n"
        )
        self.assertFalse(
            found(rules.default_in_switch_over_own_enum, {"kernels/a.cc": own_inside_other})
        )


class SwitchesOverOpsAndDTypes(unittest.TestCase):
    FORBIDDEN = [
        "case Op::kSum:",
        "    case warpfold::Op::kMaxAbs: return;",
        "case DType::kF16:",
        "case v1::OP_SUM:",
        "case v1::DTYPE_BF16:",
        "if constexpr (sizeof(T) == 1) {",
        "std::conditional_t<(sizeof(T) <= 2), int, long>",
        "requires(sizeof(T) > 4)",
    ]
    ALLOWED = [
        "case Join::kAdd:",
        "case v1::NAN_POLICY_OMIT:",
        "bits >> (8 * sizeof(T) - 1)",
        "kVectorBytes / sizeof(T)",
        "sizeof(State) <= 256",
        "// case Op::kSum: what it was",
    ]

    def test_each_is_found_where_it_does_not_belong(self):
        for line in self.FORBIDDEN:
            for path in ("kernels/a.h", "kernels/cuda/a.cuh", "server/a.cc", "client/cpp/a.cc"):
                with self.subTest(line=line, path=path):
                    files = {path: line + "\n"}
                    self.assertTrue(found(rules.switches_over_ops_and_dtypes, files))

    def test_the_catalogues_and_tests_may(self):
        for line in self.FORBIDDEN:
            for path in ("kernels/ops/a.h", "kernels/dtypes/a.h", "tests/a.cc", "bench/a.cc"):
                with self.subTest(line=line, path=path):
                    files = {path: line + "\n"}
                    self.assertFalse(found(rules.switches_over_ops_and_dtypes, files))

    def test_what_is_allowed_stays_allowed(self):
        for line in self.ALLOWED:
            with self.subTest(line=line):
                files = {"kernels/a.h": line + "\n"}
                self.assertFalse(found(rules.switches_over_ops_and_dtypes, files))


class Layers(unittest.TestCase):
    def found(self, folder, name):
        return found(layers.include_layers, {f"{folder}/a.cc": f'#include "{name}"\n'})

    def test_no_folder_is_below_itself(self):
        for folder in layers.LAYERS:
            self.assertNotIn(folder, layers.reach(folder))

    def test_every_edge_that_is_not_in_the_table_is_found(self):
        for folder in layers.LAYERS:
            allowed = layers.reach(folder) | {folder}
            for other in (*layers.LAYERS, *layers.ROOTS):
                with self.subTest(folder=folder, other=other):
                    wrong = self.found(folder, f"{other}/b.h")
                    self.assertEqual(len(wrong), 0 if other in allowed else 1)

    def test_a_folder_without_a_line_is_found(self):
        self.assertTrue(self.found("server/core", "server/core/base/b.h"))
        self.assertTrue(self.found("server/new", "absl/status/status.h"))
        self.assertFalse(self.found("server", "server/frontend/grpc/grpc_server.h"))
        self.assertFalse(self.found("tests/server", "server/frontend/grpc/grpc_server.h"))

    def test_every_line_is_of_a_folder(self):
        tree = rules.Tree.read(ROOT)
        self.assertEqual([f for f in layers.LAYERS if not tree.has(f)], [])


class READMEs(unittest.TestCase):
    LONG = "\n" * (readmes.README_LINES_MAX + 1)

    def found(self, files, others=()):
        return found_in_folders(readmes.folder_has_readme, files, others)

    def test_a_folder_without_one_is_found(self):
        inner = {"server/core/a.h": "", "server/README.md": "# server\n"}
        self.assertEqual(len(self.found(inner)), 1)
        self.assertIn("server/core: has no README.md", self.found(inner)[0])
        self.assertTrue(self.found({}, ["proto/google/rpc/status.proto"]))
        self.assertFalse(self.found(inner | {"server/core/README.md": "# server/core\n"}))
        self.assertFalse(self.found({"a.py": ""}, ["LICENSE"]))  # the root

    def test_a_long_one_is_found(self):
        self.assertTrue(self.found({"server/README.md": self.LONG}))
        self.assertFalse(self.found({"server/README.md": self.LONG[1:]}))
        for folder in readmes.LONG_READMES:
            with self.subTest(folder=folder):
                self.assertFalse(self.found({f"{folder}/README.md": self.LONG}))

    def test_a_folder_that_should_have_none_has_none(self):
        for folder in readmes.WITHOUT_README:
            with self.subTest(folder=folder):
                self.assertFalse(self.found({}, [f"{folder}/a.json", f"{folder}/b/c.json"]))
                self.assertTrue(self.found({f"{folder}/README.md": "# Results\n"}))
        self.assertTrue(self.found({}, ["bench/results_of_others/a.json"]))


if __name__ == "__main__":
    ROOT = Path(sys.argv.pop(1))
    unittest.main()
