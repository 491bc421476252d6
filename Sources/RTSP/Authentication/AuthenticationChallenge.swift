/// An authentication challenge of a camera (RFC 7235 §4.1).
package struct AuthenticationChallenge: Hashable, Sendable {
    /// Lower case: "digest", "basic".
    package var scheme: String
    /// Lower-case names.
    package var parameters: [String: String]

    /// Limit of challenges in one response; cameras send two.
    static let maximumOffers = 16

    /// Parses all `WWW-Authenticate` headers of a response; one header may have several challenges.
    package static func offers(in headers: [String]) -> [AuthenticationChallenge] {
        var offers: [AuthenticationChallenge] = []
        for header in headers {
            var scanner = Scanner(header)
            while let word = scanner.word() {
                if scanner.takes("=") {
                    let value = scanner.value()
                    if !offers.isEmpty {
                        offers[offers.count - 1].parameters[word.lowercased()] = value
                    }
                } else {
                    guard offers.count < maximumOffers else { return offers }
                    offers.append(
                        AuthenticationChallenge(scheme: word.lowercased(), parameters: [:]))
                }
            }
        }
        return offers
    }

    /// Tokenizer: tokens and quoted strings, separated by commas and spaces.
    private struct Scanner {
        private var rest: Substring.UnicodeScalarView

        init(_ text: String) { rest = Substring(text).unicodeScalars }

        mutating func word() -> String? {
            rest = rest.drop { $0 == " " || $0 == "," || $0 == "\t" || $0 == "=" || $0 == "\"" }
            guard !rest.isEmpty else { return nil }
            let word = rest.prefix { $0 != " " && $0 != "," && $0 != "=" && $0 != "\t" }
            rest = rest.dropFirst(word.count)
            return String(word)
        }

        mutating func takes(_ scalar: UnicodeScalar) -> Bool {
            let behind = rest.drop { $0 == " " || $0 == "\t" }
            guard behind.first == scalar else { return false }
            rest = behind.dropFirst()
            return true
        }

        mutating func value() -> String {
            guard takes("\"") else {
                let value = rest.prefix { $0 != "," && $0 != " " }
                rest = rest.dropFirst(value.count)
                return String(value)
            }
            var value = String.UnicodeScalarView()
            var isEscaped = false
            while let next = rest.popFirst() {
                if isEscaped {
                    value.append(next)
                    isEscaped = false
                } else if next == "\\" {
                    isEscaped = true
                } else if next == "\"" {
                    break
                } else {
                    value.append(next)
                }
            }
            return String(value)
        }
    }
}
