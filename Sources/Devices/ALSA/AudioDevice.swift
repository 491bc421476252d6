import CALSA
import CLinux
import Glibc
package import Media

/// An open ALSA capture device.
///
/// An overrun does not stop it: the driver continues to count, and reports the number of lost frames. If a device stops
/// nevertheless (a plug-in without this mode, a suspended machine), it is restarted.
package final class AudioDevice: AudioInput {
    package let layout: AudioLayout
    package let summary: String
    /// Its address, for reopening.
    package let address: AudioAddress

    private let handle: PCMHandle
    private let agreement: PCMAgreement
    /// Number of the next frame to read.
    private var nextFrame: Int64 = 0

    /// Maximum age of a driver's stamp; an older one is of another clock.
    private static let oldestStampNanoseconds: Int64 = 60_000_000_000

    /// Opens the device at that address, or one that was opened before and is plugged in again.
    package init(_ address: AudioAddress, request: AudioRequest) throws(DeviceError) {
        let name = try address.currentName()
        do throws(ALSAError) {
            handle = try PCMHandle(name)
        } catch .call(-EINVAL) {
            // The number of a card that cannot exist, or an invalid name.
            throw .missing(name)
        } catch {
            throw DeviceError(opening: name, error)
        }
        do throws(ALSAError) {
            agreement = try handle.agree(on: request)
        } catch {
            throw DeviceError(opening: name, error)
        }
        self.address = address.found(handle)
        layout = AudioLayout(
            sampleType: agreement.format.sampleType, isPlanar: false,
            sampleRate: agreement.sampleRate, channels: agreement.channels)
        summary = "\(name) (\(agreement.format.name))"
    }

    package func start() throws(DeviceError) {
        do throws(ALSAError) {
            try run()
        } catch {
            throw lost(error)
        }
    }

    package func read(timeoutMilliseconds: Int) throws(DeviceError) -> AudioInputEvent {
        do throws(ALSAError) {
            do throws(ALSAError) {
                return try readPeriods(timeoutMilliseconds)
            } catch .call(let code) {
                return try recover(from: code)
            }
        } catch {
            throw lost(error)
        }
    }

    // MARK: Reading

    private func readPeriods(_ timeoutMilliseconds: Int) throws(ALSAError) -> AudioInputEvent {
        let isReady = try ALSAError.check(
            snd_pcm_wait(handle.pcm, Int32(timeoutMilliseconds)))
        if isReady == 0 { return .idle }
        var (available, reading) = try look()
        available -= try skipOverwritten(available)
        let count = min(available, agreement.bufferFrames)
        if count <= 0 { return .idle }
        let samples = count * agreement.channels
        let memory = DeviceMemory(sizeBytes: samples * 4)
        let read = snd_pcm_readi(handle.pcm, memory.bytes, snd_pcm_uframes_t(count))
        if read < 0 { throw .call(Int32(read)) }
        if read == 0 { return .idle }
        if agreement.format == .packed24 {
            SampleFormat.widen(memory.bytes, count: Int(read) * agreement.channels)
        }
        let first = nextFrame
        nextFrame += Int64(read)
        return .sound(
            AudioChunk(
                firstFrame: first,
                sound: RawAudio(
                    layout: layout, planes: [UnsafeRawPointer(memory.bytes)],
                    frameCount: Int(read), captureNanoseconds: 0, owner: memory),
                reading: reading))
    }

    /// The number of frames to read, and the number captured by a given time.
    private func look() throws(ALSAError) -> (available: Int, reading: AudioReading) {
        var available: snd_pcm_uframes_t = 0
        var stamp = snd_htimestamp_t()
        try ALSAError.check(snd_pcm_htimestamp(handle.pcm, &available, &stamp))
        let now = MonotonicClock().nowNanoseconds
        let stamped = Int64(stamp.tv_sec) * 1_000_000_000 + Int64(stamp.tv_nsec)
        let isPlausible = (now - Self.oldestStampNanoseconds...now).contains(stamped)
        return (
            Int(available),
            AudioReading(
                frames: nextFrame + Int64(available), nanoseconds: isPlausible ? stamped : now)
        )
    }

    /// Skips frames that the driver has overwritten, and a period more that it may be writing now; returns the number
    /// of lost frames.
    private func skipOverwritten(_ available: Int) throws(ALSAError) -> Int {
        guard available > agreement.bufferFrames else { return 0 }
        let lost = available - agreement.bufferFrames + agreement.periodFrames
        let skipped = snd_pcm_forward(handle.pcm, snd_pcm_uframes_t(lost))
        if skipped < 0 { throw .call(Int32(skipped)) }
        nextFrame += Int64(skipped)
        return Int(skipped)
    }

    // MARK: Starting

    private func run() throws(ALSAError) {
        nextFrame = 0
        try ALSAError.check(snd_pcm_prepare(handle.pcm))
        try ALSAError.check(snd_pcm_start(handle.pcm))
    }

    private func recover(from code: Int32) throws(ALSAError) -> AudioInputEvent {
        if snd_pcm_state(handle.pcm) == SND_PCM_STATE_DISCONNECTED { throw .call(-ENODEV) }
        switch -code {
        case EAGAIN, EINTR:
            return .idle
        case EPIPE:
            try run()
            return .restarted("buffer overrun")
        case ESTRPIPE:
            try run()
            return .restarted("the machine was suspended")
        default:
            throw .call(code)
        }
    }

    private func lost(_ error: ALSAError) -> DeviceError {
        .soundDeviceLost(address.name, reason: error.reason)
    }
}

/// The memory of one read.
// @unchecked: written before it is shared, only read from then on.
private final class DeviceMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawPointer

    init(sizeBytes: Int) {
        bytes = .allocate(byteCount: sizeBytes, alignment: 16)
    }

    deinit { bytes.deallocate() }
}
