package import Media

/// The multivariant playlist of a session: every source as a variant stream, and as a rendition (RFC 8216 §4.3.4).
///
/// Sources are views of one event, for which HLS has `EXT-X-MEDIA:TYPE=VIDEO`. Few players support it; all players support variant
/// streams.
package struct MultivariantPlaylist: Sendable {
    /// A source of the session.
    package struct Source: Sendable {
        package var name: String
        /// All formats that its files have, each once, in the order of their first appearance.
        package var formats: [TrackFormat]
        /// Nil: not measured.
        package var bandwidth: Bandwidth?
        /// Nil: the rate in the parameter sets.
        package var frameRate: FrameRate?

        package init(
            name: String, formats: [TrackFormat], bandwidth: Bandwidth?,
            frameRate: FrameRate? = nil
        ) {
            self.name = name
            self.formats = formats
            self.bandwidth = bandwidth
            self.frameRate = frameRate
        }
    }

    /// How renditions are listed.
    package enum Renditions: Hashable, Sendable {
        /// Sources with pictures are renditions of one group.
        case oneGroup
        /// No renditions: FFmpeg opens every playlist twice otherwise.
        case omitted
    }

    private static let group = "sources"
    /// `BANDWIDTH` is required: more than a camera needs.
    private static let unmeasuredBitsPerSecond: Int64 = 8_000_000

    private let sources: [Source]
    private let renditions: Renditions

    /// - Parameter sources: with different names; players start with the first one.
    package init(_ sources: [Source], renditions: Renditions = .oneGroup) {
        self.sources = sources
        self.renditions = renditions
    }

    /// The playlist; nil without a source.
    package var text: String? {
        guard !sources.isEmpty else { return nil }
        var text = """
            #EXTM3U
            #EXT-X-VERSION:\(MediaPlaylist.version)
            #EXT-X-INDEPENDENT-SEGMENTS

            """
        if renditions == .oneGroup { text += renditionTags }
        for source in sources {
            text += "#EXT-X-STREAM-INF:\(variant(source))\n\(uri(source))\n"
        }
        return text
    }

    private func uri(_ source: Source) -> String { "\(pathSegment(source.name))/index.m3u8" }

    private var renditionTags: String {
        var text = ""
        var names: Set<String> = []
        for source in sources where source.hasPictures {
            let isFirst = names.isEmpty
            var attributes = AttributeList()
            attributes.add("TYPE", unquoted: "VIDEO")
            attributes.add("GROUP-ID", quoted: Self.group)
            attributes.add("NAME", quoted: Self.unused(source.name, &names))
            attributes.add("DEFAULT", unquoted: isFirst ? "YES" : "NO")
            attributes.add("AUTOSELECT", unquoted: isFirst ? "YES" : "NO")
            // No limit: an encoded name may be three times as long as the name.
            attributes.add("URI", quoted: uri(source), maximumBytes: .max)
            text += "#EXT-X-MEDIA:\(attributes.text)\n"
        }
        return text
    }

    /// Renditions of a group have different names (RFC 8216 §4.3.4.1.1), also when they differ only in characters that
    /// attributes cannot have.
    private static func unused(_ name: String, _ names: inout Set<String>) -> String {
        let plain = quotedText(name, maximumBytes: AttributeList.maximumQuotedBytes / 2)
        let stem = plain.isEmpty ? "source" : plain
        var unused = stem
        var number = 2
        while !names.insert(unused).inserted {
            unused = "\(stem) \(number)"
            number += 1
        }
        return unused
    }

    private func variant(_ source: Source) -> String {
        var attributes = AttributeList()
        let peak = source.bandwidth?.peakBitsPerSecond ?? Self.unmeasuredBitsPerSecond
        attributes.add("BANDWIDTH", integer: max(1, peak))
        if let average = source.bandwidth?.averageBitsPerSecond {
            attributes.add("AVERAGE-BANDWIDTH", integer: max(1, average))
        }
        var codecs: [String] = []
        for codec in source.formats.map(\.codecText) where !codecs.contains(codec) {
            codecs.append(codec)
        }
        if !codecs.isEmpty {
            attributes.add(
                "CODECS", quoted: codecs.joined(separator: ","), maximumBytes: .max)
        }
        if let size = source.size {
            attributes.add("RESOLUTION", unquoted: "\(size.width)x\(size.height)")
        }
        if let rate = source.frameRateText { attributes.add("FRAME-RATE", unquoted: rate) }
        if renditions == .oneGroup, source.hasPictures {
            attributes.add("VIDEO", quoted: Self.group)
        }
        return attributes.text
    }
}

extension MultivariantPlaylist.Source {
    /// Above the rate of any camera: parameter sets are untrusted.
    private static var maximumFrameRate: Double { 1_000 }

    private var pictures: [VideoFormat] {
        formats.compactMap { format in
            guard case .video(let pictures) = format else { return nil }
            return pictures
        }
    }

    fileprivate var hasPictures: Bool { !pictures.isEmpty }

    /// The size at which its largest pictures are shown.
    fileprivate var size: PictureSize? {
        let largest = pictures.max {
            UInt64($0.width) * UInt64($0.height) < UInt64($1.width) * UInt64($1.height)
        }
        guard let largest, largest.width > 0, largest.height > 0 else { return nil }
        return PictureSize(width: Int(largest.width), height: Int(largest.height))
            .turned(largest.orientation)
    }

    /// Pictures a second with at most three decimals (RFC 8216 §4.3.4.2).
    fileprivate var frameRateText: String? {
        guard hasPictures else { return nil }
        let rate: Double
        if let frameRate {
            rate = Double(frameRate.numerator) / Double(frameRate.denominator)
        } else if let told = pictures.compactMap(Self.toldFrameRate).max() {
            rate = told
        } else {
            return nil
        }
        guard rate > 0, rate <= Self.maximumFrameRate else { return nil }
        let thousandths = Int64((rate * 1_000).rounded())
        guard thousandths > 0 else { return nil }
        return secondsText(microseconds: thousandths * 1_000)
    }

    /// The rate in the first parameter set; nil if it states none, or is invalid: the rate is only a hint.
    private static func toldFrameRate(_ format: VideoFormat) -> Double? {
        format.knownProperties?.frameDuration.map { Double($0.timescale) / Double($0.ticks) }
    }
}
