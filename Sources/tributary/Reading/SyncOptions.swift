import ArgumentParser
import SyncCheck
import Terminal

/// The options of `verify --sync`.
struct SyncOptions: ParsableArguments {
    @Flag(
        help: """
            Measure timing errors instead: decode recordings of the test pattern and compare the times coded in frames and \
            beeps with their timestamps.
            """)
    var sync = false

    @Option(
        help: ArgumentHelp(
            "With --sync: maximum error between sources and between audio and video.",
            valueName: "time"))
    var maxError: TimeSpan?

    @Option(
        help: ArgumentHelp(
            """
            With --sync: offset and skew of a source's clock relative to the reference clock. OFFSET is the reference time at the \
            source's time zero; PPM is how much faster the source's clock runs. Repeatable.
            """, valueName: "source=offset[@ppm]"))
    var clock: [ClockOption] = []

    func validate() throws {
        guard !sync, maxError != nil || !clock.isEmpty else { return }
        throw ValidationError("--max-error and --clock need --sync: add it")
    }
}

/// `stage=-500s@12.5`: a source, and how its clock differs from the reference.
struct ClockOption: HintedArgument {
    static var valueHint: String {
        "a source and its clock, such as stage=-500s or stage=1.5ms@12.5"
    }

    let source: String
    let clock: ReferenceClock

    init?(argument: String) {
        guard let mark = argument.lastIndex(of: "="), mark != argument.startIndex else {
            return nil
        }
        source = String(argument[..<mark])
        let parts = argument[argument.index(after: mark)...].split(
            separator: "@", omittingEmptySubsequences: false)
        guard let offset = Self.signed(parts[0], TimeSpan.init(argument:))?.nanoseconds,
            parts.count <= 2
        else { return nil }
        let sign: Int64 = parts[0].hasPrefix("-") ? -1 : 1
        var skew: Int64 = 0
        if parts.count == 2 {
            // A millionth of a second per second is a nanosecond per thousandth: the same digits.
            let magnitude = Self.signed(parts[1]) { TimeSpan(argument: $0 + "us") }
            guard let magnitude, magnitude.nanoseconds <= ReferenceClock.maximumSkewPPB else {
                return nil
            }
            skew = parts[1].hasPrefix("-") ? -magnitude.nanoseconds : magnitude.nanoseconds
        }
        clock = ReferenceClock(offsetNanoseconds: sign * offset, skewPPB: skew)
    }

    /// The number after the sign.
    private static func signed(
        _ text: Substring, _ parse: (String) -> TimeSpan?
    ) -> TimeSpan? {
        let hasSign = text.hasPrefix("-") || text.hasPrefix("+")
        return parse(String(hasSign ? text.dropFirst() : text))
    }
}
