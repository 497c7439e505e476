from lab.fixtures import demo, deployment, fresh_lab, fresh_lab8, lab, lab8

__all__ = ["demo", "deployment", "fresh_lab", "fresh_lab8", "lab", "lab8"]
