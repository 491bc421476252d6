import Hashing
package import Media

/// Multiplex configuration of MP4A-LATM (RFC 6416 §6, ISO/IEC 14496-3 §1.7.3): the parameters of `fmtp`.
package struct LATMPayload: AudioPayload {
    package static let encoding = "MP4A-LATM"

    /// AAC packets per AudioMuxElement.
    package let subframes: Int
    package let format: AudioFormat

    package init(_ parameters: [String: String]) throws(RTSPError) {
        // The default is 1 (RFC 6416 §7.3), but senders that omit it and state a configuration use 0.
        guard parameters["cpresent"] != "1" else {
            throw .unusableDescription(
                "its AAC (LATM) has its configuration in the packets (cpresent=1), which is not supported"
            )
        }
        guard let text = parameters["config"], let bytes = ByteText.decode(hexadecimal: text),
            !bytes.isEmpty
        else { throw .unusableDescription("its AAC (LATM) has no configuration") }
        do throws(BitstreamError) {
            let config = try StreamMuxConfig(parsing: bytes)
            subframes = config.subframes
            format = try AudioFormat(aac: config.audioSpecificConfig)
        } catch {
            throw .unusableDescription("its AAC (LATM) cannot be used: \(error)")
        }
    }

    package func depacketizer(clockRate: UInt32) -> any Depacketizer {
        LATMDepacketizer(self, clockRate: clockRate)
    }
}
