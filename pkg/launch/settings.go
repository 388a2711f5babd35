package launch

import "strings"

// settings are read once, when a process starts.
var settings = []struct{ variable, separator, key, value string }{
	// In a build with SIMD instructions the signals of asynchronous preemption can make
	// math.Exp up to 100 times slower, and in any they interrupt the C code of accelerator
	// plug-ins, which does not expect them.
	{"GODEBUG", ",", "asyncpreemptoff", "1"},
	// XLA on CPUs asks malloc for each step's intermediate results and gives them back.
	// Of glibc's own accord blocks of their size go back to the system at once, to be
	// mapped anew page by page in the next step, which costs as much as computing a small
	// one. Now up to 512 MiB stay with the process, in pages of 2 MiB.
	{"GLIBC_TUNABLES", ":", "glibc.malloc.mmap_threshold", "268435456"},
	{"GLIBC_TUNABLES", ":", "glibc.malloc.trim_threshold", "536870912"},
	{"GLIBC_TUNABLES", ":", "glibc.malloc.hugetlb", "1"},
}

// Settings are the environment variables with which a process computes fast, each with
// what environ says of it already: what somebody has set stays as it is. They work only
// on a process that starts with them.
func Settings(environ func(name string) string) map[string]string {
	set := map[string]string{}
	for _, s := range settings {
		text, begun := set[s.variable]
		if !begun {
			text = environ(s.variable)
		}
		if !strings.Contains(text, s.key+"=") {
			text = strings.TrimPrefix(text+s.separator+s.key+"="+s.value, s.separator)
		}
		set[s.variable] = text
	}
	return set
}
