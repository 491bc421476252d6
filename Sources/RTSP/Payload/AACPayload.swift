/// Layout of AU headers (RFC 3640 §4.1): the parameters of `fmtp`.
package struct AACPayload: Hashable, Sendable {
    /// Field lengths in bits.
    package var sizeBits: Int
    package var indexBits: Int
    package var indexDeltaBits: Int

    package init(sizeBits: Int, indexBits: Int, indexDeltaBits: Int) {
        self.sizeBits = sizeBits
        self.indexBits = indexBits
        self.indexDeltaBits = indexDeltaBits
    }

    init(_ parameters: [String: String]) throws(RTSPError) {
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
    }
}
