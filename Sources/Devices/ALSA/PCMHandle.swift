import CALSA
import Glibc

/// An open ALSA PCM capture device; closed with this value. Belongs to one thread.
struct PCMHandle: ~Copyable {
    let pcm: OpaquePointer

    /// Opens the device with that name; the error is ALSA's, a negative errno. Does not wait for a busy one.
    init(_ name: String) throws(ALSAError) {
        CALSA_keep_off_terminal()
        var pcm: OpaquePointer?
        let result = snd_pcm_open(&pcm, name, SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK)
        guard result >= 0, let pcm else { throw .call(result) }
        self.pcm = pcm
    }

    deinit { snd_pcm_close(pcm) }
}

/// An error of ALSA.
enum ALSAError: Error, Hashable {
    /// A call returned this negative errno.
    case call(Int32)
    /// The device has no supported sample format.
    case noFormat

    /// Throws if a call's result is an error.
    @discardableResult
    static func check(_ result: Int32) throws(ALSAError) -> Int32 {
        if result < 0 { throw .call(result) }
        return result
    }

    var reason: String {
        switch self {
        case .call(let code): String(cString: snd_strerror(code))
        case .noFormat:
            "its sample formats are none of "
                + SampleFormat.allCases.map(\.name).joined(separator: ", ")
        }
    }
}
