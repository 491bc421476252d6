/// Prints values as JSON on standard output, in a uniform system of units.
///
/// In the code a number has its unit in its name, in whatever unit is exact there. Printed numbers have one unit per
/// quantity: seconds and parts per million, as decimal numbers. Instants are strings (RFC 3339, UTC).
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

/// Conversion of names and numbers in nanoseconds, milliseconds and parts per billion.
///
/// It applies to numbers nested below such a name, in an object or an array.
struct JSONUnit {
    private let suffix: String
    private let unit: String
    /// Number of units per printed unit.
    let divisor: Double

    private static let all = [
        JSONUnit(suffix: "Nanoseconds", unit: "Seconds", divisor: 1e9),
        JSONUnit(suffix: "Milliseconds", unit: "Seconds", divisor: 1e3),
        JSONUnit(suffix: "PartsPerBillion", unit: "PPM", divisor: 1e3),
    ]

    /// A member's printed name, and the divisor of its numbers; nil: unchanged.
    static func told(_ name: String) -> (name: String, divisor: Double?) {
        for unit in all
        where name.hasSuffix(unit.suffix)
            || name == unit.suffix.prefix(1).lowercased() + unit.suffix.dropFirst()
        {
            let begin = name.dropLast(unit.suffix.count)
            return (begin.isEmpty ? unit.unit.lowercased() : begin + unit.unit, unit.divisor)
        }
        return (name, nil)
    }
}

/// Writes nodes as text (RFC 8259): indented by two spaces, with members sorted by name.
struct JSONWriter {
    private var bytes: [UInt8] = []
    /// A cache: the names of a text are few.
    private var told: [String: (name: String, divisor: Double?)] = [:]

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
                // Names below a unit's name describe the numbers, not their unit.
                divisor == nil ? (tell(name), member) : ((name, divisor), member)
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

    private mutating func tell(_ name: String) -> (name: String, divisor: Double?) {
        if let known = told[name] { return known }
        let new = JSONUnit.told(name)
        told[name] = new
        return new
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
