package meter

import "testing"

func TestFindsAFigureOfTheKernelByItsName(t *testing.T) {
	const text = "UDP: inuse 3 mem 9\nTCP: inuse 5 orphan 0 mem 73\n"
	if pages, err := figure(text, "TCP:", "mem"); err != nil || pages != 73 {
		t.Errorf("%d, %v", pages, err)
	}
	if _, err := figure(text, "TCP:", "tw"); err == nil {
		t.Error("a figure was found that is not there")
	}
	if used, most, err := TCPMemory(); err != nil || used < 0 || most < 1 {
		t.Errorf("%d of %d: %v", used, most, err)
	}
}
