/// Something of a camera that can be set: focus, exposure, brightness.
package struct CameraControl: Hashable, Sendable {
    /// The kernel's number for it, V4L2_CID_….
    package var id: UInt32
    /// As v4l2-ctl writes it: "exposure_time_absolute".
    package var name: String
    package var kind: Kind
    package var minimum: Int64
    package var maximum: Int64
    package var step: UInt64
    package var usual: Int64
    /// Nil: it cannot be read.
    package var value: Int64?
    /// Cannot be set at all.
    package var isReadOnly: Bool
    /// Cannot be set now, because another control (an automatic) has it.
    package var isInactive: Bool

    package enum Kind: Hashable, Sendable {
        case integer
        case boolean
        /// Pressed, not set.
        case button
        case bitmask
        /// One of these.
        case menu([Choice])

        /// A word for it.
        package var word: String {
            switch self {
            case .integer: "integer"
            case .boolean: "boolean"
            case .button: "button"
            case .bitmask: "bitmask"
            case .menu: "menu"
            }
        }
    }

    /// An entry of a menu.
    package struct Choice: Hashable, Sendable {
        package var value: Int64
        package var name: String
    }

    /// "Exposure Time, Absolute" becomes "exposure_time_absolute", as v4l2-ctl has it.
    static func name(from label: String) -> String {
        var result = ""
        var isBetween = false
        for byte in label.utf8 {
            let isWord =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                || (0x61...0x7A).contains(byte)
            if isWord {
                if isBetween, !result.isEmpty { result.append("_") }
                result.append(
                    Character(UnicodeScalar(byte | ((0x41...0x5A).contains(byte) ? 0x20 : 0))))
            }
            isBetween = !isWord
        }
        return result
    }

    /// Why the control cannot have that value; nil: it can.
    package func flaw(of value: Int64) -> String? {
        if isReadOnly { return "\(name) is read-only" }
        switch kind {
        case .button:
            return nil
        case .menu(let choices):
            if choices.contains(where: { $0.value == value }) { return nil }
            let all = choices.map { "\($0.value) (\($0.name))" }.joined(separator: ", ")
            return "\(name) has no value \(value): use one of \(all)"
        case .integer, .boolean, .bitmask:
            if (minimum...max(minimum, maximum)).contains(value) { return nil }
            return "\(name) cannot be \(value): use \(minimum) to \(maximum)"
        }
    }
}

/// A rectangle of a camera's pixels.
package struct CameraArea: Hashable, Sendable, CustomStringConvertible {
    package var left: Int
    package var top: Int
    package var width: Int
    package var height: Int

    package init(left: Int, top: Int, width: Int, height: Int) {
        self.left = left
        self.top = top
        self.width = width
        self.height = height
    }

    package var description: String { "\(width)×\(height)+\(left)+\(top)" }
}
