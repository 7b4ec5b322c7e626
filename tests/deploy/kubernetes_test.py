"""Checks deploy/kubernetes: the manifests fit each other, the server and the rest of deploy/.

PyPI's kubernetes-validate compares them with the schemas that Kubernetes publishes. Where kustomize
or kubectl is there, the overlays are built and go through the same; without, that skips.

Usage: kubernetes_test.py DEPLOY_FOLDER [unittest's arguments]
"""

import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import kubernetes_validate
import yaml
from memory import GIB, default, limit_for_cuda, limit_for_the_cpu

DEPLOY = Path(".")
OVERLAYS = ("cpu", "gpu")
VERSIONS = ("1.27", "1.34")  # grpc probes are stable since the first
STARTS_S = 15 * 60  # kernels that the driver compiles
OPERATOR = "monitoring.coreos.com/v1"  # its kinds are no part of Kubernetes


def read(name: str):
    return yaml.safe_load((DEPLOY / "kubernetes" / name).read_text(encoding="utf-8"))


def written():
    """The manifests as they stand in base/ and monitoring/."""
    for folder in ("base", "monitoring", "monitoring/gpu"):
        for name in read(f"{folder}/kustomization.yaml")["resources"]:
            if name.endswith(".yaml"):
                yield read(f"{folder}/{name}")


def built(overlay: str):
    """The overlay's manifests, built; skips the test where nothing can build them."""
    if shutil.which("kustomize"):
        command = ["kustomize", "build"]
    elif shutil.which("kubectl"):
        command = ["kubectl", "kustomize"]
    else:
        raise unittest.SkipTest("neither kustomize nor kubectl is installed")
    folder = DEPLOY / "kubernetes/overlays" / overlay
    output = subprocess.run([*command, folder], check=True, stdout=subprocess.PIPE, timeout=60)
    return list(yaml.safe_load_all(output.stdout))


def misfits(manifests):
    """What of the manifests does not find what it names."""
    one = {manifest["kind"]: manifest for manifest in manifests}
    pod = one["Deployment"]["spec"]["template"]
    pod_labels, service = pod["metadata"]["labels"], one["Service"]
    server = pod["spec"]["containers"][0]
    container_ports = {port["name"]: port["containerPort"] for port in server["ports"]}
    service_ports = {port["name"]: port for port in service["spec"]["ports"]}

    for what, wanted, labels in (
        ("Deployment", one["Deployment"]["spec"]["selector"]["matchLabels"], pod_labels),
        ("Service", service["spec"]["selector"], pod_labels),
        ("budget", one["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"], pod_labels),
        ("policy", one["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"], pod_labels),
        (
            "monitor",
            one["ServiceMonitor"]["spec"]["selector"]["matchLabels"],
            service["metadata"]["labels"],
        ),
    ):
        if not wanted.items() <= labels.items():
            yield f"{what} selects {wanted}, there is {labels}"
    for name, port in service_ports.items():
        if container_ports.get(port["targetPort"]) != port["port"]:
            yield f"the Service's port {name} is not the container's"
    for endpoint in one["ServiceMonitor"]["spec"]["endpoints"]:
        if endpoint["port"] not in service_ports:
            yield f"the ServiceMonitor's port {endpoint['port']} is not the Service's"
    for rule in one["NetworkPolicy"]["spec"]["ingress"]:
        for port in rule["ports"]:
            if port["port"] not in container_ports:
                yield f"the NetworkPolicy's port {port['port']} is not the container's"
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        if server[probe]["grpc"]["port"] != container_ports["grpc"]:
            yield f"the {probe} asks another port"
        wanted = "liveness" if probe == "livenessProbe" else "readiness"
        if server[probe]["grpc"].get("service") != wanted:
            yield f"the {probe} does not ask for {wanted}"
    target = one["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    if (target["kind"], target["name"]) != ("Deployment", one["Deployment"]["metadata"]["name"]):
        yield f"the HorizontalPodAutoscaler scales {target}"
    if "replicas" in one["Deployment"]["spec"]:
        yield "the Deployment sets replicas against the HorizontalPodAutoscaler"
    if len({manifest["metadata"].get("namespace") for manifest in manifests} - {None}) > 1:
        yield "more than one namespace"


def set_in(manifests, kind: str, path, value):
    place = next(manifest for manifest in manifests if manifest["kind"] == kind)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value


class Manifests(unittest.TestCase):
    def test_fit_each_other(self):
        self.assertEqual([], list(misfits(list(written()))))

    def test_what_does_not_fit_is_found(self):
        labels = ("metadata", "labels")
        container = ("spec", "template", "spec", "containers", 0)
        for kind, path, value in (
            ("Deployment", ("spec", "template", *labels), {"app": "x"}),
            ("Deployment", (*container, "ports", 0, "containerPort"), 50052),
            ("Deployment", (*container, "readinessProbe", "grpc", "port"), 9464),
            ("Deployment", (*container, "livenessProbe", "grpc", "service"), "readiness"),
            ("Deployment", ("spec", "replicas"), 1),
            ("Service", labels, {}),
            ("Service", ("spec", "ports", 1, "name"), "prometheus"),
            ("Service", ("metadata", "namespace"), "default"),
            ("NetworkPolicy", ("spec", "ingress", 0, "ports", 0, "port"), "http"),
            ("HorizontalPodAutoscaler", ("spec", "scaleTargetRef", "name"), "server"),
        ):
            manifests = list(written())
            set_in(manifests, kind, path, value)
            with self.subTest(kind=kind, path=path):
                self.assertNotEqual([], list(misfits(manifests)))

    def test_each_file_is_in_a_kustomization(self):
        for folder in (
            *("base", "monitoring", "monitoring/gpu", "overlays/cpu", "overlays/gpu"),
            "../grafana",
        ):
            content = read(f"{folder}/kustomization.yaml")
            named = set(content.get("resources", [])) | {
                patch["path"] for patch in content.get("patches", [])
            }
            for generator in content.get("configMapGenerator", []):
                named |= set(generator["files"])
            there = DEPLOY / "kubernetes" / folder
            for name in named:
                self.assertTrue((there / name).exists(), f"{folder}/{name}")
            for file in (*there.glob("*.yaml"), *there.glob("*/*.json")):
                if file.name != "kustomization.yaml":
                    self.assertIn(file.relative_to(there).as_posix(), named, folder)


class TheServer(unittest.TestCase):
    """The manifests against what the server and the rest of deploy/ say."""

    @classmethod
    def setUpClass(cls):
        cls.deployment = read("base/deployment.yaml")
        cls.pod = cls.deployment["spec"]["template"]["spec"]
        cls.server = cls.pod["containers"][0]

    def test_starts_as_compose_starts_it(self):
        common = yaml.safe_load((DEPLOY / "common.yaml").read_text(encoding="utf-8"))
        self.assertLessEqual(
            set(common["services"]["server"]["command"]), set(self.server["args"])
        )
        dockerfile = (DEPLOY / "../Dockerfile").read_text(encoding="utf-8")
        self.assertIn(
            f"USER {self.pod['securityContext']['runAsUser']}:"
            f"{self.pod['securityContext']['runAsGroup']}\n",
            dockerfile,
        )

    def test_has_the_time_to_drain(self):
        delay = next(a for a in self.server["args"] if a.startswith("--drain-delay-ms="))
        drain_ms = int(delay.split("=")[1]) + default(DEPLOY, "drain_timeout_ms")
        self.assertGreater(self.pod["terminationGracePeriodSeconds"], drain_ms / 1000)

    def test_has_the_time_to_compile_kernels(self):
        probe = self.server["startupProbe"]
        starts_s = probe["periodSeconds"] * probe["failureThreshold"]
        self.assertGreaterEqual(starts_s, STARTS_S)
        self.assertGreater(self.deployment["spec"]["progressDeadlineSeconds"], starts_s)

    def test_keeps_compiled_kernels_where_compose_keeps_them(self):
        compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
        pod = read("overlays/gpu/deployment.yaml")["spec"]["template"]["spec"]
        server = pod["containers"][0]
        self.assertEqual(
            compose["services"]["server"]["environment"],
            {variable["name"]: variable["value"] for variable in server["env"]},
        )
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounted = {mount["mountPath"]: volumes[mount["name"]] for mount in server["volumeMounts"]}
        kept = compose["services"]["server"]["environment"]["CUDA_CACHE_PATH"]
        limit = mounted[kept]["emptyDir"]["sizeLimit"]
        self.assertRegex(limit, r"^\d+Gi$")
        cached = int(compose["services"]["server"]["environment"]["CUDA_CACHE_MAXSIZE"])
        self.assertGreater(int(limit[:-2]) * GIB, cached)

    def test_has_the_memory_that_its_limits_let_it_take(self):
        cpu = read("overlays/cpu/deployment.yaml")["spec"]["template"]["spec"]["containers"][0]
        variables = {variable["name"]: variable["value"] for variable in cpu["env"]}
        workers = int(variables["WARPFOLD_WORKERS_PER_DEVICE"])
        base = self.server["resources"]["limits"]
        for limits, most in (
            (base, limit_for_cuda(DEPLOY)),
            ({**base, **cpu["resources"]["limits"]}, limit_for_the_cpu(DEPLOY, workers)),
        ):
            self.assertRegex(limits["memory"], r"^\d+Gi$")
            self.assertGreater(int(limits["memory"][:-2]) * GIB, most)

    def test_autoscaler_and_adapter_ask_for_a_metric_that_is_there(self):
        metric = read("monitoring/horizontalpodautoscaler.yaml")["spec"]["metrics"][0]["pods"]
        name = metric["metric"]["name"]
        rule = read("prometheus-adapter-values.yaml")["rules"]["custom"][0]
        self.assertEqual(name, rule["name"]["as"])
        self.assertTrue(re.search(rule["name"]["matches"], name))
        self.assertTrue(rule["seriesQuery"].startswith(f"{name}{{"))
        # docs/metrics.md lists what the server serves; a test of the server compares the two.
        page = (DEPLOY / "../docs/metrics.md").read_text(encoding="utf-8")
        self.assertIn(f"| `{name}` | gauge |", page)

    def test_rules_are_those_of_prometheus(self):
        for ours, theirs in (("rules", "monitoring"), ("gpu", "monitoring/gpu")):
            rules = (DEPLOY / f"prometheus/{ours}/warpfold.yml").read_text(encoding="utf-8")
            self.assertEqual(
                yaml.safe_load(rules), read(f"{theirs}/prometheusrule.yaml")["spec"], ours
            )
        rules = (DEPLOY / "prometheus/rules/warpfold.yml").read_text(encoding="utf-8")
        monitor = read("monitoring/servicemonitor.yaml")
        job = read("base/service.yaml")["metadata"]["labels"][monitor["spec"]["jobLabel"]]
        self.assertIn(f'up{{job="{job}"}}', rules)


class SchemaTest(unittest.TestCase):
    def validate(self, manifests):
        for manifest in manifests:
            if manifest["apiVersion"] == OPERATOR:
                continue
            for version in VERSIONS:
                with self.subTest(kind=manifest["kind"], version=version):
                    kubernetes_validate.validate(manifest, version, strict=True)


class Schemas(SchemaTest):
    def test_are_followed(self):
        self.validate(written())

    def test_a_wrong_field_is_found(self):
        manifest = read("base/deployment.yaml")
        manifest["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["gprc"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(manifest, VERSIONS[0], strict=True)


class Overlays(SchemaTest):
    def test_fit_when_built(self):
        for overlay in OVERLAYS:
            with self.subTest(overlay=overlay):
                manifests = built(overlay)
                self.assertEqual([], list(misfits(manifests)))
                deployment = next(m for m in manifests if m["kind"] == "Deployment")
                server = deployment["spec"]["template"]["spec"]["containers"][0]
                self.assertEqual(f"warpfold:{overlay}", server["image"])
                self.assertEqual(
                    overlay == "gpu", "nvidia.com/gpu" in server["resources"]["limits"]
                )
                alerts = re.findall(r"'alert': '(\w+)'", str(manifests))
                self.assertEqual(overlay == "gpu", "WarpfoldServesFromCpu" in alerts)
                self.assertIn("WarpfoldDown", alerts)

    def test_follow_the_published_schemas(self):
        for overlay in OVERLAYS:
            with self.subTest(overlay=overlay):
                self.validate(built(overlay))


if __name__ == "__main__":
    DEPLOY = Path(sys.argv[1])
    del sys.argv[1]
    unittest.main(verbosity=2)  # which prints why a test skips
