package vectorstest

import (
	"strings"
	"testing"
)

// Two loops within a third, of which one loads a scalar; before and behind them scalars are
// as they may be, and so is what starts the function anew.
func TestScalarsAmongVectors(t *testing.T) {
	const text = `
000000000000400 <some.function>:
  400:	cmp    0x10(%r14),%rsp
  404:	jbe    470
  408:	movsd  %xmm0,0x8(%rsp)
  40c:	xor    %eax,%eax
  410:	vfmadd213pd %ymm0,%ymm1,%ymm2
  414:	vmovsd (%r8),%xmm9
  418:	inc    %rax
  41c:	jl     410 <some.function+0x10>
  420:	movsd  %xmm0,0x8(%rsp)
  424:	vaddpd %zmm0,%zmm1,%zmm2
  428:	movsd  0x8(%rsp),%xmm0
  42c:	jne    424
  430:	jmp    40c
  434:	vzeroupper
  438:	addsd  %xmm1,%xmm0
  43c:	ret
  470:	call   runtime.morestack
  474:	jmp    400 <some.function>
`
	loops, found := scalarsAmongVectors(text)
	if loops != 2 || len(found) != 1 || !strings.HasPrefix(found[0], "428:") {
		t.Errorf("%d loops, %q; want 2, and 428 of the second", loops, found)
	}
}
