/// A parsed multivariant playlist and its violations (RFC 8216 §4.3.4).
struct MultivariantRules {
    struct Variant {
        var attributes: AttributeReading
        var uri: String
    }

    private(set) var findings: [String] = []
    private(set) var variants: [Variant] = []
    private(set) var renditions: [AttributeReading] = []

    init(_ text: String) {
        let lines = text.utf8.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
        ).map { String(decoding: $0, as: UTF8.self) }
        var pending: AttributeReading?
        if lines.first != "#EXTM3U" || lines.last != "" { findings.append("first or last line") }
        for line in lines.dropFirst().dropLast() {
            let control = line.unicodeScalars.contains {
                $0.properties.generalCategory == .control
            }
            if control || line.isEmpty { findings.append("characters: \(line)") }
            if line.hasPrefix("#EXT-X-STREAM-INF:") {
                if pending != nil { findings.append("no URI before \(line)") }
                pending = AttributeReading(String(line.dropFirst(18)))
                if pending == nil { findings.append("attributes: \(line)") }
            } else if line.hasPrefix("#EXT-X-MEDIA:") {
                guard let attributes = AttributeReading(String(line.dropFirst(13))) else {
                    findings.append("attributes: \(line)")
                    continue
                }
                renditions.append(attributes)
            } else if !line.hasPrefix("#") {
                let isURI = line.utf8.allSatisfy {
                    $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"")
                }
                guard isURI, let attributes = pending else {
                    findings.append("URI: \(line)")
                    continue
                }
                variants.append(Variant(attributes: attributes, uri: line))
                pending = nil
            } else if line != "#EXT-X-INDEPENDENT-SEGMENTS", line != "#EXT-X-VERSION:7" {
                findings.append("unknown: \(line)")
            }
        }
        if pending != nil { findings.append("no URI at the end") }
        checkVariants()
        checkRenditions()
    }

    private mutating func checkVariants() {
        if variants.isEmpty { findings.append("no variant") }
        let groups = Set(renditions.compactMap { $0.quoted("GROUP-ID") })
        for variant in variants {
            let attributes = variant.attributes
            let peak = attributes.plain("BANDWIDTH").flatMap { Int64($0) } ?? 0
            if peak < 1 { findings.append("no BANDWIDTH for \(variant.uri)") }
            if let average = attributes.plain("AVERAGE-BANDWIDTH").flatMap({ Int64($0) }),
                average > peak
            {
                findings.append("the average of \(variant.uri) is more than the peak")
            }
            if let group = attributes.quoted("VIDEO"), !groups.contains(group) {
                findings.append("no group \(group)")
            }
            if let size = attributes.plain("RESOLUTION"),
                size.wholeMatch(of: /[1-9][0-9]*x[1-9][0-9]*/) == nil
            {
                findings.append("RESOLUTION \(size)")
            }
            if let rate = attributes.plain("FRAME-RATE"),
                rate.wholeMatch(of: /[0-9]+(\.[0-9]{1,3})?/) == nil
            {
                findings.append("FRAME-RATE \(rate)")
            }
        }
    }

    private mutating func checkRenditions() {
        let names = renditions.map { "\($0.quoted("GROUP-ID") ?? "") \($0.quoted("NAME") ?? "")" }
        if Set(names).count != names.count { findings.append("a name twice") }
        for rendition in renditions {
            if rendition.plain("TYPE") != "VIDEO" || (rendition.quoted("NAME") ?? "").isEmpty
                || rendition.quoted("URI") == nil
            {
                findings.append("rendition \(rendition)")
            }
        }
        if renditions.count(where: { $0.plain("DEFAULT") == "YES" }) > 1 {
            findings.append("several defaults")
        }
    }
}
