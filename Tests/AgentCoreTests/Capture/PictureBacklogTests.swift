import Encoding
import Media
import Testing

@testable import AgentCore

/// The bounded queue between a source and its preview.
@Suite struct PictureBacklogTests {
    private let interval: Int64 = 33_333_333
    private let shape = PictureShape(
        size: PictureSize(width: 16, height: 16), sampleAspectRatio: nil, colour: nil,
        rate: FrameRate(30), hasConstantRate: true, orientation: .upright)
    private let format = VideoFormat(.h264, parameterSets: [], width: 16, height: 16)

    private func picture(_ number: Int64, width: Int = 16, height: Int = 16) -> RawFrame {
        PictureBuffer(width: width, height: height).frame(
            captureNanoseconds: number * interval, durationNanoseconds: interval, colour: nil)
    }

    private func sample(_ number: Int64, isKeyframe: Bool, bytes: Int = 100) -> EncodedSample {
        EncodedSample(
            track: .video, ptsNanoseconds: number * interval, dtsNanoseconds: number * interval,
            durationNanoseconds: interval, flags: isKeyframe ? .keyframe : [],
            data: [UInt8](repeating: 1, count: bytes))
    }

    private func loss(_ number: Int64) -> CaptureLoss {
        CaptureLoss(
            track: .video, cause: .driverDrop, startNanoseconds: number * interval,
            durationNanoseconds: interval, samples: 1, text: "dropped")
    }

    /// Items as a text: pictures and samples by number, gaps by first number and length.
    private func text(_ backlog: PictureBacklog) -> [String] {
        func gap(_ loss: CaptureLoss) -> String {
            "\(loss.startNanoseconds / interval)+\((loss.durationNanoseconds + 500) / interval)"
        }
        return backlog.items.map { item in
            switch item {
            case .picture(let frame, _): "p\(frame.captureNanoseconds / interval)"
            case .sample(let sample, _): "s\(sample.ptsNanoseconds / interval)"
            case .lost(let loss): "lost \(gap(loss))"
            case .dropped(let loss): "dropped \(gap(loss))"
            case .interrupted: "interrupted"
            case .ended: "ended"
            }
        }
    }

    @Test func `a preview that is too slow loses its oldest pictures, as one gap`() {
        var backlog = PictureBacklog()
        for number in Int64(0)..<16 { backlog.put(picture(number), shape, isScarce: false) }
        #expect(text(backlog) == (0..<8).map { "p\(2 * $0)" })
        for number in Int64(16)..<22 { backlog.put(picture(number), shape, isScarce: false) }
        #expect(text(backlog) == ["dropped 0+6"] + (3..<11).map { "p\(2 * $0)" })
        guard case .dropped(let dropped) = backlog.take() else {
            Issue.record("the gap comes first")
            return
        }
        #expect(dropped.samples == 3)
        #expect(dropped.cause == .encoderOverload)
        for number in Int64(22)..<1_000 { backlog.put(picture(number), shape, isScarce: false) }
        #expect(text(backlog) == ["dropped 6+978"] + (492..<500).map { "p\(2 * $0)" })
        // Large ones need memory.
        var large = PictureBacklog()
        for number in Int64(0)..<20 {
            large.put(picture(number, width: 3840, height: 2160), shape, isScarce: false)
        }
        #expect(text(large) == ["dropped 0+14", "p14", "p16", "p18"])
    }

    @Test func `pictures of a camera with few buffers are not kept`() {
        var backlog = PictureBacklog()
        for number in Int64(0)..<6 { backlog.put(picture(number), shape, isScarce: number < 4) }
        #expect(text(backlog) == ["dropped 0+4", "p4"])
        backlog.dropRaw()
        #expect(text(backlog) == ["dropped 0+6"])
    }

    @Test func `encoded pictures are dropped up to the next keyframe`() {
        var backlog = PictureBacklog()
        backlog.put(sample(0, isKeyframe: false), format)
        #expect(backlog.items.isEmpty, "decoding begins at a keyframe")
        for number in Int64(1)...100 {
            backlog.put(sample(number, isKeyframe: number == 1 || number == 90), format)
        }
        #expect(text(backlog) == ["dropped 1+89"] + (90...100).map { "s\($0)" })
        // The limit of bytes.
        var large = PictureBacklog()
        for number in Int64(0)..<10 {
            large.put(sample(number, isKeyframe: number == 0, bytes: 4 << 20), format)
        }
        #expect(text(large) == ["dropped 0+10"])
    }

    @Test func `gaps stay in their order, and their number is bounded`() {
        var backlog = PictureBacklog()
        backlog.put(picture(0), shape, isScarce: false)
        backlog.put(loss(1))
        backlog.put(picture(2), shape, isScarce: false)
        backlog.interrupt(.deviceLost, "stopped")
        backlog.end(.stopped)
        #expect(text(backlog) == ["p0", "lost 1+1", "p2", "interrupted", "ended"])
        var many = PictureBacklog()
        for number in Int64(0)..<10_000 { many.put(loss(number)) }
        #expect(many.items.count <= PictureBacklog.mostItems)
        let lost = many.items.reduce(Int64(0)) { sum, item in
            if case .lost(let loss) = item { sum + loss.durationNanoseconds } else { sum }
        }
        #expect(lost == 10_000 * interval)
    }
}
