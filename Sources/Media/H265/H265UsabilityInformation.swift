/// Video usability information of a sequence parameter set (ITU-T H.265 §E.2.1), up to its timing.
package struct H265UsabilityInformation: Hashable, Sendable {
    /// Nil when unspecified.
    package var sampleAspectRatio: SampleAspectRatio?
    /// Nil when unspecified.
    package var colour: ColourDescription?
    /// Each picture is a field.
    package var isFieldSequence = false
    /// Nil when unspecified, or zero. A field lasts a tick, and so does a frame of frames (§E.3.1).
    package var frameDuration: PictureProperties.FrameDuration?

    init(reading reader: inout BitReader) throws(BitstreamError) {
        if try reader.flag() {
            sampleAspectRatio = try SampleAspectRatio.reading(&reader)
        }
        if try reader.flag() { try reader.skip(1) }  // overscan_appropriate_flag
        if try reader.flag() { colour = try ColourDescription.reading(&reader) }
        if try reader.flag() {
            for field in ["top", "bottom"] {
                _ = try reader.unsignedGolomb(
                    "chroma_sample_loc_type_\(field)_field", atMost: 5)
            }
        }
        try reader.skip(1)  // neutral_chroma_indication_flag
        isFieldSequence = try reader.flag()
        try reader.skip(1)  // frame_field_info_present_flag
        if try reader.flag() {
            for edge in ["left", "right", "top", "bottom"] {
                _ = try reader.unsignedGolomb("def_disp_win_\(edge)_offset")
            }
        }
        guard try reader.flag() else { return }
        let units = try reader.bits(32)
        let timescale = try reader.bits(32)
        if units > 0, timescale > 0 {
            frameDuration = .init(ticks: UInt64(units), timescale: timescale)
        }
    }
}
