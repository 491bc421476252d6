import Devices
import Media
import Testing

@testable import AgentCore

/// What waits for a busy encoder where late pictures are kept: a driver with few buffers, a thread that reads it whenever it may,
/// and an encoder, on one clock.
@Suite struct PictureQueueTests {
    private static let rate = FrameRate(30)
    private static let interval: Int64 = 33_333_333
    private static let driversBuffers = 7

    private struct Outcome {
        var encoded: [UInt32] = []
        /// Of the driver.
        var leftOut = 0
        var most = 0
        var mostBytes = 0
        var latestNanoseconds: Int64 = 0
    }

    /// Encoding a picture needs the time that `cost` returns for its number.
    private func run(
        pictures: Int64, sizeBytes: Int = 1_000, cost: (UInt32) -> Int64
    ) -> Outcome {
        var outcome = Outcome()
        var queue = PictureQueue(rate: Self.rate)
        var inDriver: [CameraPicture] = []
        var busyUntil: Int64 = 0
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: sizeBytes, alignment: 64)
        defer { memory.deallocate() }
        func read() {
            while queue.hasRoom, !inDriver.isEmpty {
                queue.put(.picture(inDriver.removeFirst()))
                outcome.most = max(outcome.most, queue.count)
                outcome.mostBytes = max(outcome.mostBytes, queue.sizeBytes)
            }
        }
        func encode(until now: Int64) {
            while busyUntil <= now, case .picture(let picture) = queue.take() {
                let begin = max(busyUntil, picture.stampNanoseconds)
                let late = begin - picture.stampNanoseconds
                outcome.latestNanoseconds = max(outcome.latestNanoseconds, late)
                outcome.encoded.append(picture.sequence)
                busyUntil = begin + cost(picture.sequence)
                read()
            }
        }
        for number in 0..<pictures {
            let now = number * Self.interval
            encode(until: now - 1)
            read()
            if inDriver.count < Self.driversBuffers {
                inDriver.append(
                    CameraPicture(
                        sequence: UInt32(number), stampNanoseconds: now, isMonotonic: true,
                        takenNanoseconds: now, isDamaged: false, bytes: memory, spareBytes: 0,
                        owner: Owner()))
            } else {
                outcome.leftOut += 1
            }
            read()
            encode(until: now)
        }
        encode(until: .max)
        return outcome
    }

    private final class Owner: Sendable {}

    @Test func `an encoder stall of five seconds loses no picture`() {
        let outcome = run(pictures: 600) { $0 == 30 ? 5_000_000_000 : 10_000_000 }
        #expect(outcome.leftOut == 0)
        #expect(outcome.encoded == Array(0..<600))
        #expect(outcome.most > 130)
    }

    @Test func `a longer encoder stall loses only its last pictures`() {
        let outcome = run(pictures: 900) { $0 == 30 ? 10_000_000_000 : 10_000_000 }
        // Five seconds of it, less the driver's buffers.
        #expect((140...150).contains(outcome.leftOut), "\(outcome.leftOut)")
        #expect(outcome.encoded.count + outcome.leftOut == 900)
        #expect(Array(outcome.encoded.prefix(150)) == Array(0..<150))
    }

    @Test func `an encoder that stays too slow runs five seconds late and drops the rest`() {
        let outcome = run(pictures: 1_800) { _ in 2 * Self.interval }
        #expect(outcome.encoded.count + outcome.leftOut == 1_800)
        #expect((730...760).contains(outcome.leftOut), "\(outcome.leftOut)")
        #expect(outcome.most == 150)
        // The queued ones, the driver's, and the one before.
        let most = 2 * Int64(150 + Self.driversBuffers + 1) * Self.interval
        #expect(outcome.latestNanoseconds <= most)
    }

    @Test func `the bytes of waiting pictures are limited`() {
        let size = 1920 * 1080 * 2
        let outcome = run(pictures: 300, sizeBytes: size) {
            $0 == 30 ? 5_000_000_000 : 10_000_000
        }
        #expect(outcome.leftOut > 0)
        #expect(outcome.mostBytes < PictureQueue.mostBytes + size)
        #expect(outcome.mostBytes > PictureQueue.mostBytes - size)
        #expect(outcome.encoded.count + outcome.leftOut == 300)
    }

    @Test func `five seconds of the largest usual size fit`() {
        #expect(PictureQueue.mostBytes >= 150 * 1280 * 720 * 3 / 2)
    }
}
