import Hashing
package import Media

/// AAC in modes AAC-hbr and AAC-lbr (RFC 3640 §4.1): its format, and the layout of AU headers.
package struct AACPayload: AudioPayload {
    package static let encoding = "MPEG4-GENERIC"

    package let format: AudioFormat
    /// Field lengths in bits.
    package var sizeBits: Int
    package var indexBits: Int
    package var indexDeltaBits: Int

    package init(_ format: AudioFormat, sizeBits: Int, indexBits: Int, indexDeltaBits: Int) {
        self.format = format
        self.sizeBits = sizeBits
        self.indexBits = indexBits
        self.indexDeltaBits = indexDeltaBits
    }

    package init(_ parameters: [String: String]) throws(RTSPError) {
        func number(_ name: String, _ usual: Int) throws(RTSPError) -> Int {
            guard let text = parameters[name] else { return usual }
            guard let value = Int(text), (0...32).contains(value) else {
                throw .unusableDescription("its AAC has \(name)=\(printable(text, limit: 20))")
            }
            return value
        }
        let isLow = parameters["mode"]?.lowercased() == "aac-lbr"
        let isHigh = parameters["mode"]?.lowercased() == "aac-hbr"
        sizeBits = try number("sizelength", isLow ? 6 : isHigh ? 13 : 0)
        indexBits = try number("indexlength", isLow ? 2 : isHigh ? 3 : 0)
        indexDeltaBits = try number("indexdeltalength", isLow ? 2 : isHigh ? 3 : 0)
        guard sizeBits > 0 else {
            throw .unusableDescription("its AAC is sent without sizes of its packets")
        }
        for name in [
            "ctsdeltalength", "dtsdeltalength", "randomaccessindication", "streamstateindication",
            "auxiliarydatasizelength",
        ] where try number(name, 0) > 0 {
            throw .unusableDescription("its AAC is sent with \(name), which is not supported")
        }
        guard let text = parameters["config"],
            let configuration = ByteText.decode(hexadecimal: text), !configuration.isEmpty
        else { throw .unusableDescription("its AAC has no configuration") }
        do throws(BitstreamError) {
            format = try AudioFormat(aac: configuration)
        } catch {
            throw .unusableDescription("its AAC cannot be used: \(error)")
        }
    }

    package func depacketizer(clockRate: UInt32) -> any Depacketizer {
        AACDepacketizer(self, clockRate: clockRate)
    }
}
