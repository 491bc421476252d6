package import Media

/// The fields of `mvhd`, read without the tables of the `moov`.
package struct MovieSummary: Hashable, Sendable {
    package var timescale: Timescale
    /// Ticks of ``timescale``.
    package var duration: UInt64

    /// Reads `mvhd` (ISO/IEC 14496-12 §8.2.2).
    package init(of moov: BoxHeader, from source: some ByteSource) throws(MP4Error) {
        var children = BoxReader(source, in: moov.payload)
        guard let mvhd = try children.next(), mvhd.type == "mvhd", mvhd.sizeBytes <= 256 else {
            throw .missing("mvhd", in: moov.type, offset: moov.offset)
        }
        let box = try BoxView(
            source.read(at: mvhd.offset, count: Int(mvhd.sizeBytes)), at: mvhd.offset)
        var fields = box.fields
        let (version, _) = try fields.versionAndFlags(newest: 1)
        _ = try fields.time(version: version)
        _ = try fields.time(version: version)
        let ticks = try fields.u32()
        guard ticks > 0 else { throw fields.invalid("a timescale of zero") }
        timescale = Timescale(ticks)
        duration = try fields.time(version: version)
    }
}
