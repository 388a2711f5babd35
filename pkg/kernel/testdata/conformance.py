# Jupyter's tests of kernels on ours. Arguments: the folder of
# jupyter_kernel_test, the kernel's name.
import sys
import unittest

sys.path.append(sys.argv[1])
import jupyter_kernel_test as jkt

DISPLAY = 'import "github.com/janpfeifer/gonb/gonbui"\n%%\n'


class Molehill(jkt.KernelTests):
    kernel_name = sys.argv[2]
    language_name = "go"
    file_extension = ".go"

    # Cells in the order in which unittest runs the tests, by name: what one
    # imports, later ones have.
    code_hello_world = 'import "fmt"\n%%\nfmt.Println("hello, world")'
    code_stderr = 'import "os"\n%%\nos.Stderr.WriteString("to the error stream\\n")'
    code_generate_error = "%%\nvar unused int"
    code_display_data = [
        {"code": DISPLAY + 'gonbui.DisplayHTML("<b>ε</b>")\ngonbui.Sync()', "mime": "text/html"},
        {"code": DISPLAY + 'gonbui.DisplayPng([]byte("\\x89PNG"))\ngonbui.Sync()', "mime": "image/png"},
        {"code": DISPLAY + 'gonbui.DisplayMarkdown("$x$")\ngonbui.Sync()', "mime": "text/markdown"},
    ]

    # What GoNB does not offer, and jupyter_kernel_test therefore skips: a cell
    # has no value (execute_result), there is no pager, no history, no
    # clear_output, and it does not judge whether code is complete. Completion
    # and inspection need gopls, which is not installed.


if __name__ == "__main__":
    # The kernel writes its log to standard error.
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2)
    unittest.main(argv=sys.argv[:1], testRunner=runner)
