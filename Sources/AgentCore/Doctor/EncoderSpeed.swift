import Devices
import Encoding
import Media

/// A box's encoding speed, compared with its cameras' rates.
enum EncoderSpeed {
    /// Duration of the measurement, in which a slow box encodes less than a second of pictures.
    private static let longestNanoseconds: Int64 = 2_000_000_000
    /// Maximum number of encoded pictures, after which the rate control has settled.
    private static let mostPictures: Int64 = 300
    /// The first pictures are not measured: caches are cold.
    private static let unmeasuredPictures: Int64 = 5
    /// Below this speed, in multiples of real time, short load peaks cause losses.
    private static let comfortable = 1.5

    /// Encodes the test pattern at maximum speed.
    /// - Returns: the encoder's rate relative to the camera's.
    static func measure(
        _ plan: VideoEncoderSettings, clock: any CaptureClock = MonotonicClock()
    ) throws(EncodingError) -> Double {
        var encoder = try VideoEncoder(plan)
        var painter = TestPicture(size: plan.size, sourceName: "doctor", utcOffsetNanoseconds: 0)
        var spent: Int64 = 0
        var measured: Int64 = 0
        let interval = plan.frameRate.nanoseconds(ofPicture: 1)
        for number in 0..<mostPictures {
            let time = plan.frameRate.nanoseconds(ofPicture: number)
            let frame = painter.paint(
                number: number, captureNanoseconds: time, durationNanoseconds: interval)
            // Generating the pictures is not measured.
            let start = clock.nowNanoseconds
            try encoder.encode(frame) { _ in }
            guard number >= unmeasuredPictures else { continue }
            spent += clock.nowNanoseconds - start
            measured += 1
            if spent >= longestNanoseconds { break }
        }
        try encoder.finish { _ in }
        return Double(measured * interval) / Double(max(1, spent))
    }

    /// Compares the measured speed with the number of cameras.
    /// - Parameters:
    ///   - speed: multiple of real time, measured with one encoder of `plan`.
    ///   - processors: of the box: an encoder with fewer threads leaves processors for other cameras.
    static func judge(
        _ speed: Double, _ plan: VideoEncoderSettings, processors: Int
    ) -> Diagnosis {
        let sharers =
            plan.threads == 0 ? 1 : max(1, Double(processors) / Double(plan.threads))
        let what =
            "\(plan.encoder) encodes \(plan.size) at \(plan.frameRate) fps at \(tenths(speed)) times real time: "
            + "this box can encode about \(tenths(speed * sharers)) such cameras at once"
        let advice = "choose a smaller --size, a lower --fps or --encoder-preset ultrafast"
        if speed < 1 {
            return Diagnosis(
                "encoder", .problem, "\(what), so pictures would be dropped: \(advice)")
        }
        if speed < comfortable {
            return Diagnosis(
                "encoder", .warning, "\(what), which leaves no reserve for load peaks: \(advice)")
        }
        return Diagnosis("encoder", .ok, what)
    }

    /// Judges the speed of a preview's encoder while its source's encoder runs.
    /// - Parameter source: speed of the source's encoder; nil: its pictures are not encoded here, and decoded for the preview.
    static func judge(
        preview speed: Double, _ plan: VideoEncoderSettings, source: Double?
    ) -> Diagnosis {
        let both = source.map { 1 / (1 / speed + 1 / max($0, 0.001)) }
        let what =
            "\(plan.encoder) encodes \(plan.size) at \(plan.frameRate) fps at \(tenths(speed)) times real time"
            + (both.map { ", and source and preview together at \(tenths($0)) times" }
                ?? "; decoding the source's pictures for it is not measured")
        let advice = "choose a smaller one, such as --preview small:320x320, or none"
        let least = both ?? speed
        if least < 1 {
            return Diagnosis(
                "preview", .problem, "\(what), so pictures would be dropped: \(advice)")
        }
        if least < comfortable {
            return Diagnosis(
                "preview", .warning, "\(what), which leaves no reserve for load peaks: \(advice)")
        }
        return Diagnosis("preview", .ok, what)
    }

    private static func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
