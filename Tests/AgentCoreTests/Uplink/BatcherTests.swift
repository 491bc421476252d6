import Hashing
import Media
import Messaging
import Testing
import Wire

@testable import AgentCore

@Suite struct BatcherTests {
    private let interval: Int64 = 100_000_000

    private func sample(
        _ track: TrackKind, at time: Int64, flags: SampleFlags = [], bytes: Int = 10,
        fill: UInt8 = 1
    ) -> EncodedSample {
        EncodedSample(
            track: track, ptsNanoseconds: time, dtsNanoseconds: time,
            durationNanoseconds: 33_333_333, flags: flags,
            data: [UInt8](repeating: fill, count: bytes))
    }

    @Test func `samples are gathered for the interval`() {
        var batcher = Batcher(intervalNanoseconds: interval)
        #expect(batcher.add(sample(.video, at: 0), now: 0).isEmpty)
        #expect(batcher.add(sample(.video, at: 33), now: 33_000_000).isEmpty)
        #expect(batcher.takeDue(now: 99_999_999) == nil)
        #expect(batcher.takeDue(now: 100_000_000)?.count == 2)
        #expect(batcher.isEmpty)
    }

    /// A sample with the stamps of a network camera.
    private func stamped(
        _ number: UInt32, rate: UInt32 = 90_000, reports: [CameraReport] = []
    ) -> EncodedSample {
        var sample = sample(.video, at: Int64(number))
        sample.camera = CameraStamps(
            clockRate: rate,
            stamps: [
                CameraStamp(
                    timestamp: number, arrivalNanoseconds: Int64(number) + 5,
                    arrivalSpanNanoseconds: 1, firstPacket: Int64(number), packets: 2)
            ], reports: reports)
        return sample
    }

    @Test func `a batch has the stamps of its samples, and a limited number of reports`() throws {
        let reports = (0..<20).map {
            CameraReport(source: 1, ntp: 2, timestamp: 3, arrivalNanoseconds: $0)
        }
        var batcher = Batcher(intervalNanoseconds: interval)
        for number in 1...3 as ClosedRange<UInt32> {
            _ = batcher.add(stamped(number, reports: Array(reports.prefix(8))), now: 0)
        }
        _ = batcher.add(sample(.audio, at: 9), now: 0)
        let taken = batcher.take()
        let runs = try #require(taken).runs
        #expect(runs[0].camera?.stamps.map(\.timestamp) == [1, 2, 3])
        #expect(runs[0].camera?.clockRate == 90_000)
        #expect(runs[0].camera?.reports.count == CameraStamps.maximumReports)
        #expect(runs[1].camera == nil)
    }

    @Test func `stamps of two clocks, or of some samples only, are left out`() {
        for other in [stamped(2, rate: 48_000), sample(.video, at: 2)] {
            var batcher = Batcher(intervalNanoseconds: interval)
            _ = batcher.add(stamped(1), now: 0)
            _ = batcher.add(other, now: 0)
            let batch = batcher.take()
            #expect(batch?.count == 2 && batch?.runs[0].camera == nil)
        }
    }

    @Test func `a batch ends before a picture at which decoding can start`() {
        var batcher = Batcher(intervalNanoseconds: interval)
        _ = batcher.add(sample(.video, at: 0), now: 0)
        _ = batcher.add(sample(.audio, at: 5, flags: .keyframe), now: 1)
        let batches = batcher.add(sample(.video, at: 33, flags: .keyframe), now: 2)
        #expect(batches.map(\.count) == [2])
        #expect(batcher.take()?.runs.map(\.track) == [.video])
    }

    @Test func `the video run is first, and the payload is in the order of the runs`() throws {
        var batcher = Batcher(intervalNanoseconds: interval)
        _ = batcher.add(sample(.audio, at: 0, bytes: 2, fill: 7), now: 0)
        _ = batcher.add(sample(.video, at: 1, bytes: 3, fill: 8), now: 0)
        _ = batcher.add(sample(.audio, at: 2, bytes: 1, fill: 9), now: 0)
        let taken = batcher.take()
        let batch = try #require(taken)
        #expect(batch.runs.map(\.track) == [.video, .audio])
        #expect(batch.runs.map(\.sizes) == [[3], [2, 1]])
        let payload = batch.payload.withUnsafeBytes { Array($0) }
        #expect(payload == [8, 8, 8, 7, 7, 9])
        #expect(batch.digest == HashFunction.sha256.hash(payload))
    }

    @Test func `a shorter interval applies to the current batch`() {
        var batcher = Batcher(intervalNanoseconds: interval)
        _ = batcher.add(sample(.video, at: 0), now: 0)
        #expect(batcher.takeDue(now: 50_000_000) == nil)
        batcher.setInterval(33_000_000)
        #expect(batcher.takeDue(now: 50_000_000)?.count == 1)
        _ = batcher.add(sample(.video, at: 60), now: 60_000_000)
        #expect(batcher.dueNanoseconds == 93_000_000)
    }

    @Test func `for subscribers, encoding time counts as waiting time, up to half of it`() {
        var batcher = Batcher(intervalNanoseconds: interval)
        batcher.setInterval(interval, countsFromCapture: true)
        let frame: Int64 = 33_333_333
        // Of a moment ago; then something that is later than it was captured, by less and by more than half of the wait.
        _ = batcher.add(sample(.video, at: 0), now: frame)
        #expect(batcher.dueNanoseconds == frame + interval)
        _ = batcher.add(sample(.audio, at: -30_000_000), now: frame + 10_000_000)
        #expect(batcher.dueNanoseconds == frame - 30_000_000 + interval)
        _ = batcher.add(sample(.audio, at: -1_000_000_000), now: frame + 10_000_000)
        #expect(batcher.dueNanoseconds == frame + 10_000_000 + interval / 2)
        // Stamps of the future change nothing.
        _ = batcher.take()
        _ = batcher.add(sample(.video, at: .max - 5), now: 1_000_000_000)
        #expect(batcher.dueNanoseconds == 1_000_000_000 + interval)
    }

    @Test func `with short batches each picture is sent at once, and audio with the next one`() {
        var batcher = Batcher(intervalNanoseconds: interval)
        batcher.setInterval(1_000_000, countsFromCapture: true)
        #expect(batcher.add(sample(.video, at: 0), now: 40_000_000).map(\.count) == [1])
        #expect(batcher.isEmpty && batcher.dueNanoseconds == nil)
        // Captured a while ago, as sound is: half of the 33 ms are over.
        #expect(batcher.add(sample(.audio, at: 0), now: 60_000_000).isEmpty)
        #expect(batcher.dueNanoseconds == 76_500_000)
        let next = batcher.add(sample(.video, at: 33_333_333), now: 70_000_000)
        #expect(next.map { $0.runs.map(\.track) } == [[.video, .audio]])
        // Without pictures, it goes when its time has come.
        _ = batcher.add(sample(.audio, at: 70_000_000), now: 103_333_333)
        #expect(batcher.takeDue(now: 136_333_332) == nil)
        #expect(batcher.takeDue(now: 136_333_333)?.count == 1)
        // A longer interval applies to both.
        batcher.setInterval(50_000_000, countsFromCapture: true)
        #expect(batcher.add(sample(.video, at: 200_000_000), now: 200_000_000).isEmpty)
        _ = batcher.add(sample(.audio, at: 200_000_000), now: 200_000_000)
        #expect(batcher.dueNanoseconds == 250_000_000)
    }

    @Test func `records are as short as subscriptions request, up to the usual length`() {
        let automatic = BatchLength.automatic
        #expect(automatic.recordNanoseconds(watched: nil) == 100_000_000)
        #expect(automatic.recordNanoseconds(watched: 33_000_000) == 33_000_000)
        #expect(automatic.recordNanoseconds(watched: .max) == 100_000_000)
        #expect(automatic.gathers)
        // A configured length is used.
        let fixed = BatchLength.fixed(.milliseconds(250))
        #expect(fixed.recordNanoseconds(watched: 33_000_000) == 250_000_000)
        #expect(!fixed.gathers)
    }

    @Test func `without an interval each sample travels alone`() {
        var batcher = Batcher(intervalNanoseconds: 0)
        #expect(batcher.add(sample(.video, at: 0), now: 0).map(\.count) == [1])
        #expect(batcher.add(sample(.audio, at: 0), now: 0).map(\.count) == [1])
        #expect(batcher.isEmpty)
    }

    @Test func `a batch is never larger than a message allows`() {
        var batcher = Batcher(intervalNanoseconds: .max / 2)
        var sizes: [Int] = []
        for index in 0..<40 {
            for batch in batcher.add(sample(.video, at: Int64(index), bytes: 100_000), now: 0) {
                sizes.append(batch.payload.count)
            }
        }
        #expect(!sizes.isEmpty)
        #expect(sizes.allSatisfy { $0 <= Batcher.fullBytes })
        // One that is larger than a batch by itself still travels.
        let large = batcher.add(sample(.video, at: 99, bytes: 3 << 20), now: 0)
        #expect(large.count == 1)
        #expect(batcher.take()?.payload.count == 3 << 20)
    }

    @Test func `equal values of samples are stored once`() throws {
        var batcher = Batcher(intervalNanoseconds: interval)
        for index in 0..<4 {
            _ = batcher.add(
                sample(.video, at: Int64(index), flags: index == 0 ? .keyframe : []), now: 0)
        }
        let taken = batcher.take()
        let run = try #require(taken?.runs.first)
        #expect(run.durationsNanoseconds.count == 1 && run.ptsOffsetsNanoseconds.isEmpty)
        #expect(run.flags.count == 4)
    }

    @Test func `samples that the protocol cannot carry are detected before sending`() {
        var late = sample(.video, at: 10)
        #expect(late.flaw == nil)
        late.dtsNanoseconds = 11
        #expect(late.flaw?.contains("DTS 11") == true)
        var endless = sample(.audio, at: 0)
        endless.durationNanoseconds = -1
        #expect(endless.flaw != nil)
        #expect(sample(.video, at: 0, bytes: WireLimits.payloadBytes + 1).flaw != nil)
        #expect(sample(.video, at: 0, bytes: 0).flaw != nil)
        #expect(sample(.video, at: .max).flaw != nil)
    }
}
