from lab.fixtures import fresh_lab, fresh_lab8, lab, lab8

__all__ = ["fresh_lab", "fresh_lab8", "lab", "lab8"]
