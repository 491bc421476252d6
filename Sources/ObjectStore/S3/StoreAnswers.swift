import Hashing
import XML

/// Parses a store's XML responses (Amazon S3 API Reference). An unexpected response is nil or an error.
enum StoreAnswers {
    /// An invalid response.
    struct Broken: Error, Hashable {
        var reason: String

        init(_ reason: String) { self.reason = reason }
    }

    static func document(_ bytes: [UInt8]) throws(Broken) -> XMLElement {
        do throws(XMLElement.Flaw) {
            return try XMLElement.parse(bytes)
        } catch {
            throw Broken("its answer is not valid XML: \(error)")
        }
    }

    /// `ListBucketResult` of `ListObjectsV2`.
    /// - Parameter prefix: removed from all keys.
    static func listing(
        _ root: XMLElement, below prefix: String
    ) throws(Broken) -> (entries: [ObjectPage.Entry], isTruncated: Bool) {
        guard root.name == "ListBucketResult" else {
            throw Broken("its answer is no listing")
        }
        var entries: [ObjectPage.Entry] = []
        for element in root.children {
            switch element.name {
            case "Contents":
                guard let key = element.text(of: "Key"), let size = number(element, "Size") else {
                    throw Broken("its listing has an object without key or size")
                }
                entries.append(
                    ObjectPage.Entry(
                        key: try relative(key, prefix), isFolder: false, sizeBytes: size,
                        tag: element.text(of: "ETag") ?? "",
                        modifiedNanoseconds: element.text(of: "LastModified").flatMap {
                            RequestTime(extended: $0)?.nanoseconds
                        }))
            case "CommonPrefixes":
                guard let key = element.text(of: "Prefix") else {
                    throw Broken("its listing has a folder without a name")
                }
                entries.append(
                    ObjectPage.Entry(
                        key: try relative(key, prefix), isFolder: true, sizeBytes: 0, tag: "",
                        modifiedNanoseconds: nil))
            default: continue
            }
        }
        return (entries, root.text(of: "IsTruncated") == "true")
    }

    /// `InitiateMultipartUploadResult`: the upload ID.
    static func upload(_ root: XMLElement) throws(Broken) -> String {
        guard root.name == "InitiateMultipartUploadResult", let name = root.text(of: "UploadId"),
            !name.isEmpty, name.utf8.count <= 2_048
        else { throw Broken("its answer names no upload") }
        return name
    }

    /// `ListPartsResult`: a page of parts, and the part number after which the next page begins; nil: there is none.
    static func parts(
        _ root: XMLElement
    ) throws(Broken) -> (parts: [UploadedPart], next: Int?) {
        guard root.name == "ListPartsResult" else { throw Broken("its answer is no list of parts") }
        var parts: [UploadedPart] = []
        for element in root.children where element.name == "Part" {
            guard let number = number(element, "PartNumber"), (1...10_000).contains(number),
                let size = self.number(element, "Size"), let tag = element.text(of: "ETag")
            else { throw Broken("its list of parts has one without number, size or tag") }
            parts.append(
                UploadedPart(
                    number: Int(number), sizeBytes: size, tag: tag,
                    digest: element.text(of: "ChecksumSHA256").flatMap(ObjectDigest.init(base64:))))
        }
        guard root.text(of: "IsTruncated") == "true" else { return (parts, nil) }
        let next = number(root, "NextPartNumberMarker").map(Int.init) ?? parts.last?.number
        return (parts, next)
    }

    /// `CompleteMultipartUploadResult`: the object's tag, in quotes; nil if the store leaves it empty (Ceph 16).
    static func completed(_ root: XMLElement) throws(Broken) -> String? {
        guard root.name == "CompleteMultipartUploadResult", let tag = root.text(of: "ETag") else {
            throw Broken("its answer does not say that the upload is complete")
        }
        if tag.isEmpty { return nil }
        let strong = EntityTag.strong(tag)
        return strong.hasPrefix("\"") ? strong : "\"\(strong)\""
    }

    /// `Error`: code and message.
    static func error(_ bytes: [UInt8]) -> (code: String, message: String)? {
        guard !bytes.isEmpty else { return nil }
        do throws(Broken) {
            let root = try document(bytes)
            guard root.name == "Error", let code = root.text(of: "Code") else { return nil }
            return (code, root.text(of: "Message") ?? "")
        } catch {
            // Proxies return HTML: the status suffices.
            return nil
        }
    }

    /// The body of `CompleteMultipartUpload`.
    static func completion(_ parts: [UploadedPart]) -> [UInt8] {
        var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for part in parts {
            text += "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(escaped(part.tag))</ETag>"
            if let digest = part.digest {
                text += "<ChecksumSHA256>\(digest.base64)</ChecksumSHA256>"
            }
            text += "</Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    private static func number(_ element: XMLElement, _ name: String) -> Int64? {
        element.text(of: name).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    private static func relative(_ key: String, _ prefix: String) throws(Broken) -> String {
        guard key.utf8.starts(with: prefix.utf8) else {
            throw Broken("its listing has objects that were not asked for")
        }
        return String(decoding: Array(key.utf8.dropFirst(prefix.utf8.count)), as: UTF8.self)
    }
}

extension ObjectDigest {
    /// The base64 of headers and responses; nil for anything but a SHA-256 of a whole object.
    init?(base64 text: String) {
        guard let bytes = ByteText.decode(base64: text), bytes.count == 32 else { return nil }
        self.init(sha256: bytes)
    }

    var base64: String { ByteText.base64(sha256) }
}
