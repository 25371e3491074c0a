package graph

import "testing"

// TestUploadingBounds: a key has a bounded number of requests with files, and others have room besides.
func TestUploadingBounds(t *testing.T) {
	t.Parallel()
	var u uploading
	var leaves []func()
	for range uploadsOfKey {
		leave, ok := u.enter("one")
		if !ok {
			t.Fatal("there is no room")
		}
		leaves = append(leaves, leave)
	}
	if _, ok := u.enter("one"); ok {
		t.Error("a key has more than its share")
	}
	leave, ok := u.enter("another")
	if !ok {
		t.Fatal("one key keeps another one out")
	}
	for _, l := range append(leaves, leave) {
		l()
	}
	if u.all != 0 || len(u.ofKey) != 0 {
		t.Errorf("left: %d, %v", u.all, u.ofKey)
	}
}
