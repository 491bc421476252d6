import Media
import Testing

@testable import Devices

/// Missing pictures, from a driver's sequence numbers.
@Suite struct CameraSequenceTests {
    private static let interval: Int64 = 66_666_666

    /// Number of missing pictures before each picture, given its number and interval.
    private func missing(_ pictures: [(number: UInt32, intervals: Int64)]) -> [Int] {
        var sequence = CameraSequence(rate: FrameRate(15))
        var time: Int64 = 1_000_000_000
        return pictures.map { picture in
            time += picture.intervals * Self.interval
            return sequence.missing(before: picture.number, atNanoseconds: time)
        }
    }

    @Test func `a continuous picture count reports no loss`() {
        #expect(missing([(0, 1), (1, 1), (2, 1)]) == [0, 0, 0])
    }

    @Test func `missing numbers are a loss of as many pictures`() {
        #expect(missing([(7, 1), (8, 1), (11, 3), (12, 1)]) == [0, 0, 2, 0])
    }

    @Test func `a wrapped count is continuous`() {
        #expect(missing([(.max - 1, 1), (.max, 1), (0, 1), (1, 1)]) == [0, 0, 0, 0])
        #expect(missing([(.max - 1, 1), (1, 3)]) == [0, 2])
    }

    @Test func `a jump of the count beyond the elapsed time is not a loss`() {
        #expect(missing([(5, 1), (4_000_000, 1), (4_000_001, 1)]) == [0, 0, 0])
    }

    @Test func `a count that restarts is not a loss`() {
        #expect(missing([(500, 1), (501, 1), (0, 1), (1, 1)]) == [0, 0, 0, 0])
    }

    @Test func `without a count, losses follow from the times`() {
        #expect(missing([(0, 1), (0, 1), (0, 4), (0, 1)]) == [0, 0, 3, 0])
    }

    @Test func `a camera that slows down in the dark is not a loss`() {
        #expect(missing([(0, 1), (1, 1), (2, 2), (3, 2)]) == [0, 0, 0, 0])
    }
}

/// Capture times, from a driver's timestamps.
@Suite struct CameraStampsTests {
    private let interval: Int64 = 66_666_667

    @Test func `a stamp that can be true is the picture's time`() {
        var stamps = DriverStamps()
        for number in 0..<5 as Range<Int64> {
            let stamp = 1_000_000_000 + number * interval
            let moment = stamps.moment(
                stampNanoseconds: stamp, isMonotonic: true, takenNanoseconds: stamp + 3_000_000)
            #expect(moment == DriverStamps.Moment(nanoseconds: stamp, isDriversOwn: true))
        }
        #expect(stamps.replaced == 0)
    }

    @Test(arguments: [
        // Wrapped, or of the wall clock.
        Int64.max - 1_000, 1_763_000_000_000_000_000, -5_000_000_000, 0,
    ]) func `a stamp that cannot be true is replaced by the arrival, less the usual delay`(
        stamp: Int64
    ) {
        var stamps = DriverStamps()
        let start: Int64 = 90_000_000_000
        _ = stamps.moment(
            stampNanoseconds: start, isMonotonic: true, takenNanoseconds: start + 2_000_000)
        let moment = stamps.moment(
            stampNanoseconds: stamp, isMonotonic: true,
            takenNanoseconds: start + interval + 2_500_000)
        #expect(!moment.isDriversOwn)
        #expect(moment.nanoseconds == start + interval + 500_000)
        #expect(stamps.replaced == 1)
    }

    @Test func `a stamp of a clock that is not the monotonic one is replaced`() {
        var stamps = DriverStamps()
        let moment = stamps.moment(
            stampNanoseconds: 5_000, isMonotonic: false, takenNanoseconds: 10_000)
        #expect(moment == DriverStamps.Moment(nanoseconds: 10_000, isDriversOwn: false))
    }

    @Test func `a stamp that goes back is replaced, and times still grow`() {
        var stamps = DriverStamps()
        let start: Int64 = 90_000_000_000
        _ = stamps.moment(stampNanoseconds: start, isMonotonic: true, takenNanoseconds: start + 9)
        let back = stamps.moment(
            stampNanoseconds: start - 1, isMonotonic: true, takenNanoseconds: start + 5)
        #expect(!back.isDriversOwn && back.nanoseconds > start)
        // Valid stamps are trusted again.
        let next = stamps.moment(
            stampNanoseconds: start + interval, isMonotonic: true,
            takenNanoseconds: start + interval + 9)
        #expect(next.isDriversOwn)
    }

    @Test func `pictures that waited while the box was stopped keep their times`() {
        var stamps = DriverStamps()
        let moment = stamps.moment(
            stampNanoseconds: 10_000_000_000, isMonotonic: true, takenNanoseconds: 13_000_000_000)
        #expect(moment.isDriversOwn)
    }

    @Test func `a stamp shortly in the future, for the picture's end, is used`() {
        var stamps = DriverStamps()
        let moment = stamps.moment(
            stampNanoseconds: 10_060_000_000, isMonotonic: true, takenNanoseconds: 10_000_000_000)
        #expect(moment == DriverStamps.Moment(nanoseconds: 10_060_000_000, isDriversOwn: true))
    }

    @Test func `a driver's stamp out of range is ignored`() {
        #expect(DriverStamps.nanoseconds(seconds: .max, microseconds: 0) == nil)
        #expect(DriverStamps.nanoseconds(seconds: 9_223_372_036, microseconds: 999_999) == nil)
        #expect(DriverStamps.nanoseconds(seconds: 3, microseconds: 7) == 3_000_007_000)
    }
}
