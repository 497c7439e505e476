import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # tests/support

# The real engine is tested by `make test-engine`: it takes gigabytes and minutes. A path given by name is collected.
collect_ignore = ["engine"]
