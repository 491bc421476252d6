/// Prints values as JSON on standard output, in a uniform system of units.
///
/// In code, the name of a number states its unit, in which the number is exact. Printed numbers have one unit per quantity:
/// seconds and parts per million, as decimal numbers. Instants are strings (RFC 3339, UTC).
package enum JSONOutput {
    /// Prints one value with sorted keys.
    package static func print(_ value: some Encodable) throws {
        Swift.print(try text(value))
    }

    /// A value as JSON text.
    package static func text(_ value: some Encodable) throws -> String {
        var writer = JSONWriter()
        try writer.write(JSONNode(value))
        return writer.text
    }
}

/// Members whose numbers are printed in another unit than they have in code. It applies to numbers nested below such a
/// member, in an object or an array. All other members are printed as they are named in code.
enum JSONMember {
    /// Name in code; printed name, and number of units per printed unit.
    static let converted: [String: (name: String, divisor: Double)] = [
        "agentNanoseconds": ("agentSeconds", 1e9),
        "aheadNanoseconds": ("aheadSeconds", 1e9),
        "atNanoseconds": ("atSeconds", 1e9),
        "boundNanoseconds": ("boundSeconds", 1e9),
        "clockBoundMilliseconds": ("clockBoundSeconds", 1e3),
        "closedNanoseconds": ("closedSeconds", 1e9),
        "collectorZeroNanoseconds": ("collectorZeroSeconds", 1e9),
        "deviationNanoseconds": ("deviationSeconds", 1e9),
        "durationNanoseconds": ("durationSeconds", 1e9),
        "earlierNanoseconds": ("earlierSeconds", 1e9),
        "endNanoseconds": ("endSeconds", 1e9),
        "greatestNanoseconds": ("greatestSeconds", 1e9),
        "greatestShiftNanoseconds": ("greatestShiftSeconds", 1e9),
        "lagNanoseconds": ("lagSeconds", 1e9),
        "leastNanoseconds": ("leastSeconds", 1e9),
        "limitNanoseconds": ("limitSeconds", 1e9),
        "maxNanoseconds": ("maxSeconds", 1e9),
        "medianNanoseconds": ("medianSeconds", 1e9),
        "medianShiftNanoseconds": ("medianShiftSeconds", 1e9),
        "milliseconds": ("seconds", 1e3),
        "minNanoseconds": ("minSeconds", 1e9),
        "missingNanoseconds": ("missingSeconds", 1e9),
        "nanoseconds": ("seconds", 1e9),
        "offsetNanoseconds": ("offsetSeconds", 1e9),
        "oldestNanoseconds": ("oldestSeconds", 1e9),
        "originNanoseconds": ("originSeconds", 1e9),
        "p99Nanoseconds": ("p99Seconds", 1e9),
        "recordedBoundNanoseconds": ("recordedBoundSeconds", 1e9),
        "segmentNanoseconds": ("segmentSeconds", 1e9),
        "sessionNanoseconds": ("sessionSeconds", 1e9),
        "shiftNanoseconds": ("shiftSeconds", 1e9),
        "skewPartsPerBillion": ("skewPPM", 1e3),
        "startNanoseconds": ("startSeconds", 1e9),
        "stepNanoseconds": ("stepSeconds", 1e9),
        "worstNanoseconds": ("worstSeconds", 1e9),
    ]

    /// A member's printed name, and the divisor of its numbers; nil: they are printed unchanged.
    static func printed(_ name: String) -> (name: String, divisor: Double?) {
        converted[name].map { ($0.name, $0.divisor) } ?? (name, nil)
    }
}

/// Writes nodes as text (RFC 8259): indented by two spaces, with members sorted by name.
struct JSONWriter {
    private var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func write(_ node: JSONNode) throws(JSONNumberError) {
        try write(node, divisor: nil, level: 0)
    }

    private mutating func write(
        _ node: JSONNode, divisor: Double?, level: Int
    ) throws(JSONNumberError) {
        switch node.content {
        case .null: bytes += "null".utf8
        case .flag(let flag): bytes += (flag ? "true" : "false").utf8
        case .integer(let number):
            if let divisor {
                try write(Double(number) / divisor)
            } else {
                bytes += "\(number)".utf8
            }
        case .unsigned(let number):
            if let divisor {
                try write(Double(number) / divisor)
            } else {
                bytes += "\(number)".utf8
            }
        case .number(let number): try write(divisor.map { number / $0 } ?? number)
        case .text(let text): write(text)
        case .list(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                beginLine(level + 1, isFirst: index == 0)
                try write(element, divisor: divisor, level: level + 1)
            }
            endLines(level, isEmpty: elements.isEmpty)
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            let sorted = members.map { name, member in
                // Members of a value with a unit keep their names: the outer name states the unit.
                divisor == nil ? (JSONMember.printed(name), member) : ((name, divisor), member)
            }.sorted { $0.0.name < $1.0.name }
            for (index, (name, member)) in sorted.enumerated() {
                beginLine(level + 1, isFirst: index == 0)
                write(name.name)
                bytes += " : ".utf8
                try write(member, divisor: name.divisor, level: level + 1)
            }
            endLines(level, isEmpty: members.isEmpty)
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private mutating func beginLine(_ level: Int, isFirst: Bool) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\n"))
        bytes += repeatElement(UInt8(ascii: " "), count: 2 * level)
    }

    private mutating func endLines(_ level: Int, isEmpty: Bool) {
        if isEmpty { bytes.append(UInt8(ascii: "\n")) }
        bytes.append(UInt8(ascii: "\n"))
        bytes += repeatElement(UInt8(ascii: " "), count: 2 * level)
    }

    private mutating func write(_ number: Double) throws(JSONNumberError) {
        guard number.isFinite else { throw JSONNumberError() }
        let text = "\(number)".utf8
        // The shortest representation that parses to the same number; integers without a fraction.
        bytes += text.suffix(2).elementsEqual(".0".utf8) ? text.dropLast(2) : text[...]
    }

    private mutating func write(_ text: String) { JSONString.append(text, to: &bytes) }
}

/// JSON has no infinite numbers (RFC 8259 §6).
struct JSONNumberError: Error, CustomStringConvertible {
    var description: String { "a number in the answer is not finite" }
}
