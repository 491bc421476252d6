import Devices
import Encoding
import Media
import TestMedia
import Testing

@testable import AgentCore

/// An agent whose sound device is unplugged and returns.
@Suite struct AudioDevicePipelineTests {
    /// A device that follows a script, on the test's thread and clock.
    private final class ScriptedInput: AudioInput {
        enum Step {
            case sound(seconds: Int)
            case overrun(frames: Int64)
            case restart(lostFrames: Int64)
            case silence
            case unplug
        }

        let layout = AudioLayout(
            sampleType: .float, isPlanar: false, sampleRate: 48_000, channels: 1)
        let summary = "hw:CARD=Script,DEV=0 (FLOAT)"
        private let clock: JumpingClock
        private var steps: [Step]
        private var microphone: Microphone
        private var periods = 0

        init(_ steps: [Step], clock: JumpingClock) {
            self.steps = steps.reversed()
            self.clock = clock
            microphone = Microphone(
                SimulatedAudioCard(startNanoseconds: clock.nowNanoseconds, seed: 9))
        }

        func start() throws(DeviceError) {
            var card = SimulatedAudioCard(startNanoseconds: clock.nowNanoseconds, seed: 9)
            card.skewPPM = 500
            microphone = Microphone(card)
        }

        func read(timeoutMilliseconds: Int) throws(DeviceError) -> AudioInputEvent {
            if periods > 0 {
                periods -= 1
                let chunk = microphone.chunk()
                clock.sleep(untilNanoseconds: chunk.reading.nanoseconds)
                return .sound(chunk)
            }
            switch steps.popLast() {
            case .sound(let seconds):
                periods = seconds * 50
            case .overrun(let frames):
                microphone.card.lose(frames)
            case .restart(let frames):
                microphone.card.lose(frames)
                microphone.restart()
                return .restarted("its buffer ran over")
            case .silence:
                steps.append(.silence)
            case .unplug, nil:
                throw .soundDeviceLost("hw:CARD=Script,DEV=0", reason: "No such device")
            }
            clock.sleep(
                untilNanoseconds: clock.nowNanoseconds + Int64(timeoutMilliseconds) * 1_000_000)
            return .idle
        }
    }

    /// Runs a pipeline to its end; each opening takes the next of `scripts`, and nil is a device that is not there.
    /// - Parameter opened: is called before each opening, with the pipeline's output.
    private func run(
        seconds: Int, _ scripts: [[ScriptedInput.Step]?],
        opened: @escaping (CaptureOutput?) -> Void = { _ in }
    ) throws -> CollectingSink.Result {
        var output: CaptureOutput?
        let clock = JumpingClock()
        var left = scripts.makeIterator()
        let pipeline = try AudioDevicePipeline(
            "hw:CARD=Script,DEV=0", settings: quickSettings(seconds: seconds)
        ) { () throws(DeviceError) in
            opened(output)
            guard let steps = left.next() ?? nil else {
                throw .noAudioDevice("hw:CARD=Script,DEV=0", available: [])
            }
            return ScriptedInput(steps, clock: clock)
        }
        let sink = CollectingSink()
        let hub = CaptureHub(sink: sink, clock: clock)
        _ = hub.adopt(pipeline.formats)
        hub.pipelineBegan(1)
        let own = CaptureOutput(hub)
        output = own
        let end = pipeline.run(startNanoseconds: clock.nowNanoseconds, output: own)
        hub.pipelineEnded(1, end, isRetired: false)
        let result = sink.wait()
        #expect(!result.isOutOfOrder)
        expectUnbroken(result.audio)
        return result
    }

    /// Each packet begins where the one before it ended.
    private func expectUnbroken(_ samples: [EncodedSample]) {
        for (sample, next) in zip(samples, samples.dropFirst()) {
            let end = sample.ptsNanoseconds + sample.durationNanoseconds
            #expect(abs(next.ptsNanoseconds - end) <= 1)
        }
    }

    private func length(_ samples: [EncodedSample]) -> Double {
        let shown = samples.filter { !$0.flags.contains(.priming) }
        guard let first = shown.first, let last = shown.last else { return 0 }
        let end = last.ptsNanoseconds + last.durationNanoseconds
        return Double(end - first.ptsNanoseconds) * 1e-9
    }

    @Test func `a device's audio has the requested duration, and is reported`() throws {
        let result = try run(seconds: 5, [[.sound(seconds: 8)]])
        #expect(result.ends == [.finished("duration reached")])
        #expect(abs(length(result.audio) - 5) < 0.03)
        #expect(result.losses.isEmpty && result.notes.isEmpty)
        #expect((4...5).contains(result.reports.count))
        let report = try #require(result.reports.last)
        #expect(abs(try #require(report.levels.first).peak - 0.75) < 0.01)
        #expect(abs(try #require(report.skewPPM) - 500) < 100)
    }

    @Test func `an unplugged device is waited for, with silence in its place`() throws {
        var troubles: [String?] = []
        let result = try run(
            seconds: 20,
            [[.sound(seconds: 5), .unplug], nil, nil, nil, nil, [.sound(seconds: 30)]]
        ) { troubles.append($0?.trouble?.summary) }
        let missing = try #require(troubles.last ?? nil)
        #expect(missing.hasPrefix("no audio: ") && missing.hasSuffix("; silence is recorded"))
        #expect(troubles == [nil, nil, missing, missing, missing, missing])
        #expect(result.ends == [.finished("duration reached")])
        #expect(abs(length(result.audio) - 20) < 0.03)
        #expect(result.losses.map(\.cause) == [.deviceLost])
        let loss = try #require(result.losses.first)
        #expect((2_400_000_000...3_000_000_000).contains(loss.durationNanoseconds))
        #expect(result.notes.count == 2)
        #expect(result.notes.first?.contains("waiting for it") == true)
        #expect(result.notes.last?.contains("is back") == true)
    }

    @Test func `a device that does not return is a loss until the end`() throws {
        let result = try run(seconds: 10, [[.sound(seconds: 4), .unplug]])
        #expect(result.ends == [.finished("duration reached")])
        #expect(abs(length(result.audio) - 10) < 0.03)
        let loss = try #require(result.losses.first)
        #expect(result.losses.count == 1)
        #expect(abs(Double(loss.durationNanoseconds) - 6e9) < 50_000_000)
        let end = loss.startNanoseconds + loss.durationNanoseconds
        #expect(abs(end - JumpingClock.start - 10_000_000_000) < 1_000_000)
    }

    @Test func `a device that is silent for two seconds is opened again`() throws {
        let result = try run(
            seconds: 15, [[.sound(seconds: 4), .silence], [.sound(seconds: 20)]])
        #expect(result.losses.map(\.cause) == [.deviceLost])
        #expect(result.notes.first?.contains("stopped delivering samples") == true)
        let loss = try #require(result.losses.first)
        #expect(abs(Double(loss.durationNanoseconds) - 2.6e9) < 200_000_000)
    }

    @Test func `overruns are reported as losses, and nothing else`() throws {
        let result = try run(
            seconds: 20,
            [
                [
                    .sound(seconds: 5), .overrun(frames: 4_800), .sound(seconds: 5),
                    .restart(lostFrames: 9_600), .sound(seconds: 20),
                ]
            ])
        #expect(result.losses.map(\.cause) == [.overrun, .overrun])
        let lengths = result.losses.map { Double($0.durationNanoseconds) * 1e-9 }
        #expect(abs(lengths[0] - 0.1) < 0.000_1)
        #expect(abs(lengths[1] - 0.2) < 0.001)
    }

    @Test func `a device that cannot be opened ends the start with the reason`() {
        #expect(throws: CaptureError.self) {
            _ = try AudioDevicePipeline("hw:7", settings: quickSettings()) {
                () throws(DeviceError) in
                throw .soundDeviceBusy("hw:7", holder: "arecord (process 812)")
            }
        }
    }

    @Test func `a pipeline that has ended has closed its device`() throws {
        let clock = JumpingClock()
        weak var device: ScriptedInput?
        let pipeline = try AudioDevicePipeline(
            "hw:CARD=Script,DEV=0", settings: quickSettings(video: .none, seconds: 1)
        ) { () throws(DeviceError) in
            let input = ScriptedInput([.sound(seconds: 3)], clock: clock)
            device = input
            return input
        }
        let sink = CollectingSink()
        capture(pipeline, into: sink, clock: clock)
        #expect(sink.wait().ends == [.finished("duration reached")])
        withExtendedLifetime(pipeline) { #expect(device == nil) }
    }
}
