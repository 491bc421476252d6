import Foundation

/// The protocol as earlier minor versions had it, by the comments of its definition: a field that says `Since minor N`
/// is not there before.
struct ProtocolHistory {
    private struct Field {
        /// Nil: no message.
        var type: String?
        var since: UInt32
    }

    enum Flaw: Error {
        case malformed
    }

    private var messages: [String: [UInt64: Field]] = [:]
    /// Versions in which fields were added.
    private(set) var versions: Set<UInt32> = []

    init(_ definitions: [String]) {
        var types: Set<String> = []
        for text in definitions {
            for match in text.matches(of: /message (\w+) \{/) { types.insert(String(match.1)) }
        }
        for text in definitions { read(text, types) }
    }

    private mutating func read(_ text: String, _ types: Set<String>) {
        var open: [String] = []
        var comment = ""
        // One comment may be of several fields.
        var before: UInt32?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let content = line.drop { $0 == " " }
            if content.hasPrefix("//") {
                comment += "\(content) "
                continue
            }
            if let match = content.firstMatch(of: /^message (\w+) \{/) {
                open.append(String(match.1))
            } else if content.hasSuffix("{") {
                // A oneof's fields are its message's; an enum's values are none.
                open.append(content.hasPrefix("oneof") ? open.last ?? "" : "")
            } else if let match = content.firstMatch(
                of: /^(?:repeated |optional )?([\w.]+) \w+ = (\d+)/), let message = open.last,
                !message.isEmpty, let number = UInt64(match.2)
            {
                let own = comment.firstMatch(of: /[Ss]ince minor (\d+)/).flatMap { UInt32($0.1) }
                let since = own ?? (comment.isEmpty ? before : nil) ?? 0
                let type = String(match.1)
                messages[message, default: [:]][number] = Field(
                    type: types.contains(type) ? type : nil, since: since)
                versions.insert(since)
                before = since
                comment = ""
                continue
            }
            before = nil
            if content.hasPrefix("}") { _ = open.popLast() }
            comment = ""
        }
    }

    /// The version in which a field was added; nil: it is not defined.
    func version(of number: UInt64, in message: String) -> UInt32? {
        messages[message]?[number]?.since
    }

    /// A message without what a version does not have.
    func message(_ bytes: [UInt8], of name: String = "Envelope", in version: UInt32) throws
        -> [UInt8]
    {
        var result: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let begin = rest
            let key = try Self.number(&rest)
            let field = messages[name]?[key >> 3]
            var content: ArraySlice<UInt8>?
            switch key & 7 {
            case 0: _ = try Self.number(&rest)
            case 1: rest = rest.dropFirst(8)
            case 2:
                let count = Int(try Self.number(&rest))
                guard count <= rest.count else { throw Flaw.malformed }
                content = rest.prefix(count)
                rest = rest.dropFirst(count)
            case 5: rest = rest.dropFirst(4)
            default: throw Flaw.malformed
            }
            guard let field, field.since <= version else { continue }
            if let type = field.type, let content {
                let inner = try message(Array(content), of: type, in: version)
                result += Self.bytes(key) + Self.bytes(UInt64(inner.count)) + inner
            } else {
                result += begin.prefix(begin.count - rest.count)
            }
        }
        return result
    }

    private static func number(_ rest: inout ArraySlice<UInt8>) throws -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) as StrideTo<Int> {
            guard let byte = rest.popFirst() else { throw Flaw.malformed }
            number |= UInt64(byte & 0x7F) << UInt64(shift)
            if byte < 0x80 { return number }
        }
        throw Flaw.malformed
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
