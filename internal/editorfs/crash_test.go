package editorfs

const crashEnv = "DROID_ACP_TEST_EDIT_CRASH"

func crashChild() {}
