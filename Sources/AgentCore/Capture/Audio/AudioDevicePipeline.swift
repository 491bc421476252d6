import Devices
import Encoding
import Media

/// Captures from a sound device and encodes it; stays with that device through overruns and unplugging.
// @unchecked: see CapturePipeline.
final class AudioDevicePipeline: CapturePipeline, @unchecked Sendable {
    /// Opens the device, or opens it again.
    typealias Opener = () throws(DeviceError) -> any AudioInput

    let name = "capture audio"
    let formats: [TrackFormat]
    let descriptions: [String]

    /// Timeout of a read, after which the thread checks for a stop.
    private static let readMilliseconds = 100
    /// A device without data for this long has stopped.
    private static let silentNanoseconds: Int64 = 2_000_000_000
    /// Interval of attempts to reopen a missing device.
    private static let searchNanoseconds: Int64 = 500_000_000

    private enum State {
        case capturing(any AudioInput)
        case searching
    }

    private let open: Opener
    private let deviceName: String
    private let plan: AudioEncoderSettings
    private let firstRate: Int
    private let durationNanoseconds: Int64?
    private var state: State
    private var limit: CaptureLimit
    private var encoder: AudioEncoder
    private var sound: DeviceAudio
    private var isDone = false
    /// Skew of the device; nil if unknown.
    private var skewPPM: Double?
    /// The last logged reason for which the device cannot be reopened.
    private var obstacle: DeviceError?
    private var lossReason = ""
    /// Why the device is missing, from the first failed attempt to reopen it on.
    private var trouble: CaptureTrouble?
    private var heardNanoseconds: Int64 = 0

    /// Opens the device and an encoder.
    init(
        _ deviceName: String, settings: CaptureSettings, open: @escaping Opener
    ) throws(CaptureError) {
        let input: any AudioInput
        do throws(DeviceError) {
            input = try open()
        } catch {
            throw CaptureError(error)
        }
        let layout = input.layout
        plan = try settings.soundPlan(
            sourceRate: layout.sampleRate, sourceChannels: layout.channels)
        do throws(EncodingError) {
            encoder = try AudioEncoder(plan)
        } catch {
            throw .codec(error.description)
        }
        self.open = open
        firstRate = layout.sampleRate
        self.deviceName = deviceName
        state = .capturing(input)
        durationNanoseconds = settings.duration?.nanoseconds
        limit = CaptureLimit(durationNanoseconds: durationNanoseconds)
        sound = DeviceAudio(
            sampleRate: plan.sampleRate, channels: plan.channels, deviceRate: layout.sampleRate,
            startNanoseconds: 0)
        formats = [.audio(encoder.format)]
        descriptions = [CaptureDescription.sound(plan, from: input)]
    }

    /// Opens an ALSA device by name, or the first one.
    convenience init(alsa name: String, settings: CaptureSettings) throws(CaptureError) {
        let request = AudioRequest(
            sampleRate: settings.sampleRate ?? 48_000, channels: settings.channels ?? 2)
        var address = AudioAddress(name: name)
        try self.init(name, settings: settings) { () throws(DeviceError) in
            let device = try AudioDevice(address, request: request)
            address = device.address
            return device
        }
    }

    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd {
        limit.begin(startNanoseconds: startNanoseconds)
        sound = DeviceAudio(
            sampleRate: plan.sampleRate, channels: plan.channels, deviceRate: firstRate,
            startNanoseconds: startNanoseconds, durationNanoseconds: durationNanoseconds)
        let outlet = DeviceAudio.Outlet(
            sound: { [unowned self] (sound) throws(EncodingError) in try encode(sound, output) },
            lost: output.lost)
        // The device's ownership is transferred.
        defer { state = .searching }
        do throws(EncodingError) {
            let end = try capture(output, outlet)
            try sound.finish(nowNanoseconds: output.nowNanoseconds, outlet)
            try encoder.finish(emit: output.sample)
            return end
        } catch {
            return .failed(error.description)
        }
    }

    // MARK: Capturing

    private func capture(
        _ output: CaptureOutput, _ outlet: DeviceAudio.Outlet
    ) throws(EncodingError) -> CaptureEnd {
        if case .capturing(let input) = state { try start(input, output, outlet) }
        while true {
            if output.isToStop { return .stopped }
            if isDone { return .durationReached }
            switch state {
            case .capturing(let input):
                try read(input, output, outlet)
            case .searching:
                let next = output.nowNanoseconds + Self.searchNanoseconds
                guard output.wait(untilNanoseconds: next) else { return .stopped }
                try sound.wait(nowNanoseconds: output.nowNanoseconds, outlet)
                try search(output, outlet)
            }
        }
    }

    private func start(
        _ input: any AudioInput, _ output: CaptureOutput, _ outlet: DeviceAudio.Outlet
    ) throws(EncodingError) {
        heardNanoseconds = output.nowNanoseconds
        do throws(DeviceError) {
            try input.start()
        } catch {
            try lose(error.description, output, outlet)
        }
    }

    private func read(
        _ input: any AudioInput, _ output: CaptureOutput, _ outlet: DeviceAudio.Outlet
    ) throws(EncodingError) {
        let event: AudioInputEvent
        do throws(DeviceError) {
            event = try input.read(timeoutMilliseconds: Self.readMilliseconds)
        } catch {
            return try lose(error.description, output, outlet)
        }
        switch event {
        case .sound(let chunk):
            heardNanoseconds = output.nowNanoseconds
            if trouble != nil {
                trouble = nil
                output.trouble = nil
            }
            try sound.take(chunk, outlet)
            skewPPM = sound.skewPPM
        case .restarted(let reason):
            let text = "the audio device \(deviceName) stopped (\(reason)) and was restarted"
            output.noted(text)
            try sound.interrupt(.overrun, text: text, outlet)
        case .idle where output.nowNanoseconds - heardNanoseconds >= Self.silentNanoseconds:
            try lose("the audio device \(deviceName) stopped delivering samples", output, outlet)
        case .idle:
            break
        }
    }

    /// The device is missing: silence from here on, until it is back.
    private func lose(
        _ reason: String, _ output: CaptureOutput, _ outlet: DeviceAudio.Outlet
    ) throws(EncodingError) {
        output.noted("\(reason); waiting for it and recording silence")
        try sound.interrupt(.deviceLost, text: reason, outlet)
        // Closed here, so that it can be opened again.
        state = .searching
        lossReason = reason
    }

    /// Reports in the status that the device is missing.
    private func miss(_ reason: String, _ output: CaptureOutput) {
        trouble = CaptureTrouble(
            missing: "\(TrackKind.audio)",
            sinceNanoseconds: max(limit.startNanoseconds, heardNanoseconds),
            reason: "\(reason); silence is recorded",
            state: .waiting(untilNanoseconds: output.nowNanoseconds + Self.searchNanoseconds))
        output.trouble = trouble
    }

    private func search(
        _ output: CaptureOutput, _ outlet: DeviceAudio.Outlet
    ) throws(EncodingError) {
        let input: any AudioInput
        do throws(DeviceError) {
            input = try open()
        } catch .noAudioDevice {
            // Still away, which was logged.
            return miss(lossReason, output)
        } catch {
            if error != obstacle { output.noted(error.description) }
            obstacle = error
            return miss(error.description, output)
        }
        obstacle = nil
        output.noted("the audio device \(deviceName) is back: \(input.summary)")
        state = .capturing(input)
        sound.restart(deviceRate: input.layout.sampleRate)
        try start(input, output, outlet)
    }

    // MARK: Encoding

    private func encode(_ sound: RawAudio, _ output: CaptureOutput) throws(EncodingError) {
        let part = limit.part(of: sound)
        let frameNanoseconds = 1_000_000_000 / Int64(plan.sampleRate)
        let end = part.captureNanoseconds + Int64(part.frameCount) * frameNanoseconds
        // The rest is less than one audio frame.
        isDone = isDone || limit.isReached(atNanoseconds: end + frameNanoseconds)
        guard part.frameCount > 0 else { return }
        try encoder.encode(part, emit: output.sample)
        if let levels = encoder.takeLevels() {
            output.heard(AudioReport(levels: levels, skewPPM: skewPPM))
        }
    }
}
