/// A text as one word of a POSIX shell's command line, quoted where it has other characters than plain ones (POSIX.1-2024 Shell
/// Command Language §2.2). It can be text of a camera or a path.
package func shellWord(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x41...0x5A).contains($0) || (0x30...0x39).contains($0)
            || "-_./:,@%+=".utf8.contains($0)
    }
    if isPlain, !text.isEmpty { return text }
    return "'\(text.replacing("'", with: "'\\''"))'"
}
