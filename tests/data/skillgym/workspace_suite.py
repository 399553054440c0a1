from skillgym_action import Case, Workspace

workspace = Workspace(
    mode="isolated",
    template_dir="./fixtures/base-app",
    bootstrap={"command": "sh", "args": ["./scripts/bootstrap-workspace.sh", "--seed", "demo"]},
)
suite = [Case("workspace-check", prompt="Describe the prepared workspace.", check=lambda: None)]
