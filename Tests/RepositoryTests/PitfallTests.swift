import Foundation
import Testing

/// Mistakes that compile, pass short tests, and have occurred here.
@Suite struct PitfallTests {
    /// A function stored in a `Mutex` directly is wrapped once more at each read: an agent's thread lost 64 bytes of
    /// stack and some processor time per call. In a structure it stays unchanged.
    @Test func `no lock has a function as its own value`() throws {
        var count = 0
        for path in Repository.files(below: "Sources") where path.hasSuffix(".swift") {
            let text = try Repository.text(path)
            // Names of functions' types in the same file.
            var names: Set = ["@Sendable", "@escaping"]
            for match in text.matches(of: /typealias (\w+) =\s+[^\n{]*->/) {
                names.insert(String(match.1))
            }
            for match in text.matches(of: /(?:Mutex|NIOLockedValueBox)<([^\n]*)/) {
                count += 1
                let value = match.1.prefix { $0 != "=" && $0 != "{" }
                let words = value.split { !$0.isLetter && !$0.isNumber && $0 != "@" }.map(
                    String.init)
                let isFunction = value.contains("() ->") || words.contains(where: names.contains)
                #expect(!isFunction, "\(path): \(value)")
            }
        }
        #expect(count > 20)
    }
}
