/// A camera control: focus, exposure, brightness.
package struct CameraControl: Hashable, Sendable {
    /// The kernel's identifier, V4L2_CID_….
    package var id: UInt32
    /// In the notation of v4l2-ctl: "exposure_time_absolute".
    package var name: String
    package var kind: Kind
    package var minimum: Int64
    package var maximum: Int64
    package var step: UInt64
    package var usual: Int64
    /// `nil` if it cannot be read.
    package var value: Int64?
    /// Whether it can never be set.
    package var isReadOnly: Bool
    /// Whether it cannot be set now, because an automatic control is active.
    package var isInactive: Bool

    package enum Kind: Hashable, Sendable {
        case integer
        case boolean
        /// An action without a value.
        case button
        case bitmask
        /// One of these choices.
        case menu([Choice])

        /// The kind's name.
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

    /// Converts "Exposure Time, Absolute" to "exposure_time_absolute", as v4l2-ctl does.
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

    /// Why a value is invalid; nil: it is valid.
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
