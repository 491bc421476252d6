import Terminal
import Testing

struct ShellWordTests {
    @Test(arguments: [
        ("rtsp://10.0.0.7:554/a?b=1&c=$(id)", "'rtsp://10.0.0.7:554/a?b=1&c=$(id)'"),
        ("rtsp://10.0.0.7:554/live", "rtsp://10.0.0.7:554/live"),
        ("it's", "'it'\\''s'"), ("", "''"), ("two words", "'two words'"), ("a;b", "'a;b'"),
        ("a\nb", "'a\nb'"), ("~root", "'~root'"), ("Größe", "'Größe'"),
    ])
    func `a word with special characters is quoted`(text: String, word: String) {
        #expect(shellWord(text) == word)
    }
}
