// Package testeditor is an editor for tests. Its main type is Editor: it implements the client's methods for files (ACP: fs/read_text_file
// and fs/write_text_file), buffers with unsaved text, a watcher that reloads files changed on the disk, and a list of the agent's changes
// to review. Tests of editorfs and of the adapter use it.
//
// It behaves like Zed, according to Zed's public source. The main points:
//
//   - What an agent writes is compared with what it read last, not with the buffer. The
//     difference goes to the places in the buffer where the text that was read stands
//     now. If the buffer was reloaded with the new text in between, the edit is there
//     twice. A write does not renew what was read, only a read does.
//   - What a reload changes counts as the user's edit, so it is nothing to review.
//   - Buffers have \n only. A file with \r\n gets these back when it is saved.
//
// It works on real files. In a synctest bubble it uses the bubble's clock.
package testeditor
