/// An attribute list, read strictly (RFC 8216 §4.2).
struct AttributeReading {
    enum Value: Equatable {
        case quoted(String)
        case plain(String)
    }

    private(set) var values: [String: Value] = [:]

    /// Nil for an invalid attribute list: a repeated name, a missing value, text behind a quotation mark.
    init?(_ text: String) {
        // By scalars: a quotation mark and an accent behind it are one character.
        var rest = Array(text.unicodeScalars)[...]
        repeat {
            guard let equals = rest.firstIndex(of: "=") else { return nil }
            let name = Self.text(rest[..<equals])
            let isName = name.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "-")
            }
            guard isName, !name.isEmpty, values[name] == nil else { return nil }
            rest = rest[(equals + 1)...]
            if rest.first == "\"" {
                rest = rest.dropFirst()
                guard let end = rest.firstIndex(of: "\"") else { return nil }
                values[name] = .quoted(Self.text(rest[..<end]))
                rest = rest[(end + 1)...]
            } else {
                let end = rest.firstIndex(of: ",") ?? rest.endIndex
                let value = Self.text(rest[..<end])
                guard !value.isEmpty, !value.contains("\""), !value.contains(" ") else {
                    return nil
                }
                values[name] = .plain(value)
                rest = rest[end...]
            }
            if rest.isEmpty { return }
            guard rest.first == "," else { return nil }
            rest = rest.dropFirst()
        } while true
    }

    func quoted(_ name: String) -> String? {
        guard case .quoted(let text)? = values[name] else { return nil }
        return text
    }

    func plain(_ name: String) -> String? {
        guard case .plain(let text)? = values[name] else { return nil }
        return text
    }

    /// A decimal-floating-point number of seconds.
    func microseconds(_ name: String) -> Int64? { plain(name).flatMap(Self.decimal) }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        return text
    }

    /// A decimal-integer or a decimal-floating-point of any size.
    static func isDecimal(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9]+(\.[0-9]+)?/) != nil
    }

    /// Seconds as microseconds: digits, and at most six behind a point.
    static func decimal(_ text: String) -> Int64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let isDigits = parts.allSatisfy { part in
            !part.isEmpty
                && part.utf8.allSatisfy {
                    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                }
        }
        guard isDigits, parts.count <= 2, let whole = Int64(parts[0]), whole < 1 << 40 else {
            return nil
        }
        guard parts.count == 2 else { return whole * 1_000_000 }
        guard parts[1].count <= 6,
            let part = Int64(parts[1] + String(repeating: "0", count: 6 - parts[1].count))
        else { return nil }
        return whole * 1_000_000 + part
    }
}
