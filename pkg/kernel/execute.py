# Executes one notebook: the JSON of its orders is the first argument. Prints a
# line of JSON for each cell that ends, and one for what stopped it.
import json
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

orders = json.loads(sys.argv[1])


def tell(**event):
    print(json.dumps(event), flush=True)


notebook = nbformat.read(orders["input"], as_version=4)
client = NotebookClient(
    notebook,
    kernel_name=orders["kernel"],
    timeout=orders["timeout"],
    record_timing=False,
    resources={"metadata": {"path": orders["folder"]}},
    on_cell_start=lambda cell, cell_index: tell(event="start", cell=cell_index),
    on_cell_executed=lambda cell, cell_index, execute_reply: tell(event="end", cell=cell_index),
)
status = 0
try:
    client.execute()
except CellTimeoutError:
    status = 1
    tell(event="timeout")
except CellExecutionError:
    status = 1  # the notebook's outputs say it
except DeadKernelError:
    status = 1
    tell(event="dead")
finally:
    nbformat.write(notebook, orders["output"])
sys.exit(status)
