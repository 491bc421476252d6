import Foundation

/// Tests that try every position of a file. `WHOLE_SWEEPS=1` (`deploy/test --long`) tries all of them, otherwise every third.
enum Sweep {
    static let isWhole = ProcessInfo.processInfo.environment["WHOLE_SWEEPS"] != nil

    static func part(of positions: Range<Int>) -> some Sequence<Int> {
        stride(from: positions.lowerBound, to: positions.upperBound, by: isWhole ? 1 : 3)
    }
}
