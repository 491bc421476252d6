package import Media

/// A track's format as `CODECS` and MIME types name it (RFC 6381 §3.3, ISO/IEC 14496-15 §E): `avc1.64001e`, `mp4a.40.2`.
package func codecText(_ format: TrackFormat) -> String {
    switch format {
    case .h264(let format):
        // profile_idc, the constraint flags and level_idc follow the NAL unit's header.
        guard let set = format.sequenceParameterSets.first, set.count >= 4 else { return "avc1" }
        let digits = set[1...3].map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "avc1." + digits.joined()
    case .aac(let format):
        return "mp4a.40.\(audioObjectType(format))"
    }
}

/// The audio object type (ISO/IEC 14496-3 table 1.17), that of the extension where the configuration names one.
private func audioObjectType(_ format: AACFormat) -> UInt8 {
    do throws(BitstreamError) {
        let configuration = try AudioSpecificConfig(parsing: format.configuration)
        guard let replication = configuration.bandReplication else {
            return configuration.objectType
        }
        return replication.hasParametricStereo ? 29 : 5
    } catch {
        // Decoders may know more than this parser: AAC-LC is what nearly all sound is.
        return 2
    }
}
