import CALSA
import Media

/// The negotiated parameters of a device.
struct PCMAgreement {
    var format: SampleFormat
    var sampleRate: Int
    var channels: Int
    /// Frames per period.
    var periodFrames: Int
    /// Buffer size, frames.
    var bufferFrames: Int
}

extension PCMHandle {
    /// Short for low latency, long enough for low CPU use.
    private static let periodMicroseconds: UInt32 = 20_000
    /// The capturing thread may be delayed by this much without a loss of audio.
    private static let bufferMicroseconds: UInt32 = 1_000_000

    /// Negotiates the requested parameters, or the nearest ones, and prepares the device.
    func agree(on request: AudioRequest) throws(ALSAError) -> PCMAgreement {
        let agreement = try setHardware(request)
        try setSoftware(agreement)
        return agreement
    }

    private func setHardware(_ request: AudioRequest) throws(ALSAError) -> PCMAgreement {
        var parameters: OpaquePointer?
        try ALSAError.check(snd_pcm_hw_params_malloc(&parameters))
        defer { snd_pcm_hw_params_free(parameters) }
        try ALSAError.check(snd_pcm_hw_params_any(pcm, parameters))
        // The hardware's own rate: our resampler follows the clock.
        _ = snd_pcm_hw_params_set_rate_resample(pcm, parameters, 0)
        try ALSAError.check(
            snd_pcm_hw_params_set_access(pcm, parameters, SND_PCM_ACCESS_RW_INTERLEAVED))
        let format = SampleFormat.allCases.first {
            snd_pcm_hw_params_test_format(pcm, parameters, $0.libraryFormat) == 0
        }
        guard let format else { throw .noFormat }
        try ALSAError.check(
            snd_pcm_hw_params_set_format(pcm, parameters, format.libraryFormat))
        var rate = UInt32(request.sampleRate)
        var direction: Int32 = 0
        try ALSAError.check(
            snd_pcm_hw_params_set_rate_near(pcm, parameters, &rate, &direction))
        var channels = UInt32(request.channels)
        try ALSAError.check(snd_pcm_hw_params_set_channels_near(pcm, parameters, &channels))
        var period = Self.periodMicroseconds
        direction = 0
        try ALSAError.check(
            snd_pcm_hw_params_set_period_time_near(pcm, parameters, &period, &direction))
        var buffer = Self.bufferMicroseconds
        direction = 0
        try ALSAError.check(
            snd_pcm_hw_params_set_buffer_time_near(pcm, parameters, &buffer, &direction))
        try ALSAError.check(snd_pcm_hw_params(pcm, parameters))
        var periodFrames: snd_pcm_uframes_t = 0
        var bufferFrames: snd_pcm_uframes_t = 0
        try ALSAError.check(snd_pcm_get_params(pcm, &bufferFrames, &periodFrames))
        return PCMAgreement(
            format: format, sampleRate: Int(rate), channels: Int(channels),
            periodFrames: Int(periodFrames), bufferFrames: Int(bufferFrames))
    }

    private func setSoftware(_ agreement: PCMAgreement) throws(ALSAError) {
        var parameters: OpaquePointer?
        try ALSAError.check(snd_pcm_sw_params_malloc(&parameters))
        defer { snd_pcm_sw_params_free(parameters) }
        try ALSAError.check(snd_pcm_sw_params_current(pcm, parameters))
        try ALSAError.check(
            snd_pcm_sw_params_set_avail_min(
                pcm, parameters, snd_pcm_uframes_t(agreement.periodFrames)))
        // The device continues after an overrun: its count gives the number of lost frames.
        var boundary: snd_pcm_uframes_t = 0
        try ALSAError.check(snd_pcm_sw_params_get_boundary(parameters, &boundary))
        try ALSAError.check(
            snd_pcm_sw_params_set_stop_threshold(pcm, parameters, boundary))
        try ALSAError.check(
            snd_pcm_sw_params_set_tstamp_mode(pcm, parameters, SND_PCM_TSTAMP_ENABLE))
        try ALSAError.check(
            snd_pcm_sw_params_set_tstamp_type(pcm, parameters, SND_PCM_TSTAMP_TYPE_MONOTONIC))
        try ALSAError.check(snd_pcm_sw_params(pcm, parameters))
    }
}
