import Devices
import Media
import Testing

@Suite struct PictureScheduleTests {
    private let start: Int64 = 5_000_000_123

    @Test(arguments: [(30, 1, 300), (25, 2, 125), (30000, 1001, 300), (1, 1, 10)])
    func `ten seconds hold exactly the pictures that are due before they are over`(
        numerator: Int32, denominator: Int32, expected: Int
    ) {
        let rate = FrameRate(numerator, per: denominator)
        var schedule = PictureSchedule(
            rate: rate, startNanoseconds: start, durationNanoseconds: 10_000_000_000)
        var now = start
        var due: [Int64] = []
        loop: while true {
            switch schedule.next(nowNanoseconds: now) {
            case .wait(let time):
                #expect(time > now)
                now = time
            case .picture(let number, let time):
                #expect(number == Int64(due.count))
                due.append(time)
            case .skipped:
                Issue.record("nothing was late")
                break loop
            case .finished: break loop
            }
        }
        #expect(due.count == expected)
        #expect(due.first == start)
        let exact = Int128(expected - 1) * 1_000_000_000 * Int128(denominator) / Int128(numerator)
        #expect(due.last == start + Int64(exact))
    }

    @Test func `a picture at the end of the duration is not painted`() {
        let rate = FrameRate(30)
        #expect(rate.pictures(inNanoseconds: 100_000_000) == 3)
        #expect(rate.pictures(inNanoseconds: 100_000_001) == 4)
        #expect(rate.pictures(inNanoseconds: 0) == 0)
    }

    @Test func `a painter far behind continues with the newest picture and gets the gap`() {
        var schedule = PictureSchedule(
            rate: FrameRate(10), startNanoseconds: 0, durationNanoseconds: 60_000_000_000)
        #expect(schedule.next(nowNanoseconds: 0) == .picture(number: 0, dueNanoseconds: 0))
        #expect(
            schedule.next(nowNanoseconds: 5_050_000_000)
                == .skipped(
                    count: 49, startNanoseconds: 100_000_000, durationNanoseconds: 4_900_000_000))
        #expect(
            schedule.next(nowNanoseconds: 5_050_000_000)
                == .picture(number: 50, dueNanoseconds: 5_000_000_000))
    }

    @Test func `a small delay skips no picture`() {
        var schedule = PictureSchedule(
            rate: FrameRate(10), startNanoseconds: 0, durationNanoseconds: nil)
        for number in 0...PictureSchedule.usualBacklog {
            #expect(
                schedule.next(nowNanoseconds: 1_500_000_000)
                    == .picture(number: number, dueNanoseconds: number * 100_000_000))
        }
    }

    @Test func `pictures that are skipped at the end are counted too`() {
        var schedule = PictureSchedule(
            rate: FrameRate(10), startNanoseconds: 0, durationNanoseconds: 3_000_000_000)
        #expect(
            schedule.next(nowNanoseconds: 60_000_000_000)
                == .skipped(count: 29, startNanoseconds: 0, durationNanoseconds: 2_900_000_000))
        #expect(
            schedule.next(nowNanoseconds: 60_000_000_000)
                == .picture(number: 29, dueNanoseconds: 2_900_000_000))
        #expect(schedule.next(nowNanoseconds: 60_000_000_000) == .finished)
    }
}
