import ArgumentParser
import Media
package import Terminal
package import Wire

extension PictureSize: HintedArgument {
    package static var valueHint: String {
        "a size such as 1280x720, even numbers from 16 to 8192"
    }

    /// `1280x720`: both sides even (4:2:0 chroma), 16 … 8192.
    public init?(argument: String) {
        let parts = argument.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
            (16...8192).contains(width), (16...8192).contains(height), width % 2 == 0,
            height % 2 == 0
        else { return nil }
        self.init(width: width, height: height)
    }
}

extension FrameRate: HintedArgument {
    package static var valueHint: String { "a rate such as 30, 12.5 or 30000/1001, at most 1000" }

    /// `30`, `12.5` or `30000/1001`: above 0.001, so that a picture's duration fits in nanoseconds, up to 1000.
    public init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, let numerator = Int32(parts[0]), let denominator = Int32(parts[1]) {
            guard numerator > 0, denominator > 0, numerator / denominator <= 1000,
                denominator / numerator < 1000
            else { return nil }
            self.init(numerator, per: denominator)
            return
        }
        guard parts.count == 1, let rate = Double(argument), rate > 0.001, rate <= 1000 else {
            return nil
        }
        self.init(Int32((rate * 1000).rounded()), per: 1000)
    }
}

extension PictureOrientation.Rotation: ExpressibleByArgument {
    /// Degrees: `0`, `90`, `180` or `270`.
    public init?(argument: String) {
        guard let degrees = Int(argument) else { return nil }
        self.init(rawValue: degrees)
    }

    /// For the help.
    public static var allValueStrings: [String] { allCases.map { "\($0.rawValue)" } }
}

/// A value, or `own` for the source's own value.
package struct OwnOr<Value: HintedArgument & Hashable>: HintedArgument {
    package static var valueHint: String { "\(Value.valueHint), or own" }

    package let choice: CaptureChange.Choice<Value>

    package init?(argument: String) {
        if argument == "own" {
            choice = .own
        } else if let value = Value(argument: argument) {
            choice = .this(value)
        } else {
            return nil
        }
    }
}

extension PictureCrop: HintedArgument {
    package static var valueHint: String { "a crop rectangle such as 640x360+10+20, even numbers" }

    /// `640x360+10+20`.
    public init?(argument: String) { self.init(argument[...]) }
}

/// The value of an option that is switched `on` or `off`.
package enum OnOff: String, ExpressibleByArgument, CaseIterable {
    case on, off
}

/// `NAME=VALUE`, a control of a camera.
struct ControlArgument: HintedArgument {
    static var valueHint: String {
        "a control and its value, such as brightness=128 or focus_auto=off"
    }

    let setting: CaptureChange.Setting

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        let words: [Substring: Int64] = ["on": 1, "off": 0]
        guard let value = words[parts[1]] ?? Int64(parts[1]) else { return nil }
        setting = CaptureChange.Setting(name: String(parts[0]), value: value)
    }
}
