/// An unusual stream as produced by some cameras and files, its structure and the expected result.
///
/// Six seconds, ten pictures a second, a group of pictures per second. Tests/MediaTests/README.md lists them.
package struct OddStream: Sendable {
    package var name: String
    /// avcC's sets.
    package var sequenceSets: [[UInt8]]
    package var pictureSets: [[UInt8]]
    package var packets: [FLVFile.Packet] = []
    /// Pictures that a recording has.
    package var pictures = 60
    /// Pictures at which decoding can start.
    package var syncPictures = 6
    /// Pictures recorded but never presented, which a decoder needs to recover.
    package var hiddenPictures = 0
    /// Files of a recording in segments of two seconds.
    package var files = 3

    /// The stream as an FLV file.
    package var file: [UInt8] {
        FLVFile.bytes(record: FLVFile.record(sequenceSets, pictureSets), packets)
    }

    private typealias Sequence = H264Writer.Sequence
    private typealias Picture = H264Writer.Picture
    private static let groups: UInt32 = 6
    private static let perGroup: UInt32 = 10

    private init(
        _ name: String, _ sequences: [Sequence] = [Sequence()], pictureSets: [[UInt8]]? = nil,
        _ change: (inout OddStream) -> Void
    ) {
        self.name = name
        sequenceSets = sequences.map(\.nalUnit)
        self.pictureSets =
            pictureSets ?? sequences.map { H264Writer.pictureSet($0.id, of: $0.id) }
        change(&self)
    }

    /// Adds the stream's pictures, each divided into packets by `packets`.
    private mutating func add(
        _ packets: (_ group: UInt32, _ picture: Picture) -> [[[UInt8]]]
    ) {
        for number in 0..<Self.groups * Self.perGroup {
            let (group, place) = number.quotientAndRemainder(dividingBy: Self.perGroup)
            let picture = Picture(
                place == 0 ? .idr(id: group % 2) : .repeated, number: place, order: place * 2,
                luma: UInt8(40 + number * 3 % 180))
            for nalUnits in packets(group, picture) {
                self.packets.append(
                    FLVFile.Packet(at: number * 100, isKeyframe: place == 0, nalUnits))
            }
        }
    }

    private static func isFirst(_ picture: Picture) -> Bool {
        if case .idr = picture.kind { true } else { false }
    }

    /// Parameter sets: in force by identifier until replaced.
    package static let parameterSets: [OddStream] = [
        OddStream("a second identifier of both kinds, once, in the samples") { stream in
            let other = Sequence(id: 1, orderBits: 6)
            stream.add { group, picture in
                var picture = picture
                picture.pictureSet = group % 2
                let sets =
                    group == 1 && isFirst(picture)
                    ? [other.nalUnit, H264Writer.pictureSet(1, of: 1)] : []
                return [sets + picture.slices(group % 2 == 0 ? Sequence() : other)]
            }
        },
        OddStream("a picture set that comes once, in the first sample") { stream in
            stream.add { group, picture in
                var picture = picture
                picture.pictureSet = group < 3 ? 0 : 200
                let isStart = group == 0 && isFirst(picture)
                return [
                    (isStart ? [H264Writer.pictureSet(200)] : []) + picture.slices(Sequence())
                ]
            }
        },
        OddStream(
            "one identifier whose timing alternates", [Sequence(timeScale: 20)]
        ) { stream in
            stream.add { group, picture in
                let sequence = Sequence(timeScale: group % 2 == 0 ? 20 : 50)
                let sets = [sequence.nalUnit, H264Writer.pictureSet()]
                return [(isFirst(picture) ? sets : []) + picture.slices(sequence)]
            }
        },
        OddStream("a replacement that comes with the picture before") { stream in
            stream.add { group, picture in
                let sequences = [Sequence(), Sequence(orderBits: 5)]
                let own = sequences[Int(group % 2)]
                let next = sequences[Int((group + 1) % 2)]
                let isLast = picture.number == perGroup - 1
                // Behind the picture: part of the next access unit.
                return [picture.slices(own)]
                    + (isLast ? [[next.nalUnit, H264Writer.pictureSet()]] : [])
            }
        },
        OddStream(
            "two sizes, both known from the start",
            [Sequence(), Sequence(id: 1, columns: 3, rows: 4)]
        ) { stream in
            let sequences = [Sequence(), Sequence(id: 1, columns: 3, rows: 4)]
            stream.add { group, picture in
                var picture = picture
                picture.pictureSet = group < 3 ? 0 : 1
                return [picture.slices(sequences[Int(picture.pictureSet)])]
            }
            stream.files = 4
        },
        OddStream("another size in the samples") { stream in
            let large = Sequence(columns: 4, rows: 4)
            stream.add { group, picture in
                let sets = [large.nalUnit, H264Writer.pictureSet()]
                return [
                    (group == 3 && isFirst(picture) ? sets : [])
                        + picture.slices(group < 3 ? Sequence() : large)
                ]
            }
            stream.files = 4
        },
    ]

    /// Access units: one picture each.
    package static let accessUnits: [OddStream] = [
        OddStream("delimiters and messages in packets of their own") { stream in
            stream.add { _, picture in
                [[H264Writer.delimiter], [H264Writer.userData], picture.slices(Sequence())]
            }
        },
        OddStream("each slice in a packet of its own") { stream in
            stream.add { _, picture in
                picture.slices(Sequence(), count: 2).map { [$0] }
            }
        },
        OddStream("each field in a packet of its own", [Sequence(rows: 4, hasFields: true)]) {
            $0.addFields(joined: false)
        },
        OddStream("both fields in one packet", [Sequence(rows: 4, hasFields: true)]) {
            $0.addFields(joined: true)
        },
        OddStream("IDR pictures alone, all with one idr_pic_id") { stream in
            stream.add { _, picture in
                [Picture(.idr(id: 0), number: 0, order: 0, luma: picture.luma).slices(Sequence())]
            }
            stream.syncPictures = 60
        },
        OddStream("pictures that no other refers to, and delimiters at the end of packets") {
            stream in
            stream.add { _, picture in
                var picture = picture
                if !isFirst(picture) {
                    picture.isReference = false
                    picture.number = 1
                }
                return [picture.slices(Sequence()) + [H264Writer.delimiter]]
            }
        },
    ]

    private mutating func addFields(joined: Bool) {
        let sequence = Sequence(rows: 4, hasFields: true)
        add { _, picture in
            var top = picture
            top.isBottomField = false
            var bottom = picture
            bottom.isBottomField = true
            bottom.order += 1
            // The first picture has no other field to repeat.
            if Self.isFirst(picture) { bottom.kind = .intra }
            let fields = [top.slices(sequence), bottom.slices(sequence)]
            return joined ? [fields.flatMap(\.self)] : fields
        }
    }

    /// Access points, at which decoding can start.
    package static let accessPoints: [OddStream] = [
        OddStream("pictures that are only flagged as keyframes") { stream in
            stream.add { group, picture in
                var picture = picture
                if group > 0, isFirst(picture) { picture.kind = .repeated }
                picture.number += group * perGroup
                picture.order = picture.number * 2
                return [picture.slices(Sequence())]
            }
            stream.syncPictures = 1
            stream.files = 1
        },
        OddStream("I pictures with a recovery count of 0") { stream in
            stream.addContinuous { group, place in
                if place > 0 { return (.repeated, nil) }
                return (group == 0 ? .idr(id: 0) : .intra, 0)
            }
        },
        OddStream("P pictures with a recovery count of 0") { stream in
            stream.addContinuous { group, place in
                (group + place == 0 ? .idr(id: 0) : .repeated, place == 0 ? 0 : nil)
            }
            stream.syncPictures = 1
            stream.files = 1
        },
        OddStream("intra refresh behind an IDR picture") { stream in
            stream.addContinuous { group, place in
                if group + place == 0 { return (.idr(id: 0), nil) }
                return (place < 2 ? .refreshed(row: place) : .repeated, place == 0 ? 2 : nil)
            }
            stream.syncPictures = 1
            stream.files = 1
        },
        OddStream("intra refresh without an IDR picture, joined late") { stream in
            stream.addContinuous { group, place in
                (place < 2 ? .refreshed(row: place) : .repeated, place == 0 ? 2 : nil)
            }
            // Joined in the middle of the first group.
            stream.packets.removeFirst(5)
            stream.pictures = 50
            stream.syncPictures = 1
            stream.hiddenPictures = 2
            stream.files = 1
        },
        OddStream("a recording that begins between two IDR pictures") { stream in
            stream.add { _, picture in [picture.slices(Sequence())] }
            stream.packets.removeFirst(4)
            stream.pictures = 50
            stream.syncPictures = 5
            stream.files = 3
        },
    ]

    /// Adds pictures whose numbers continue across groups.
    private mutating func addContinuous(
        _ make: (_ group: UInt32, _ place: UInt32) -> (kind: Picture.Kind, recovery: UInt32?)
    ) {
        add { group, picture in
            let (kind, recovery) = make(group, picture.number)
            let place = picture.number
            var picture = picture
            picture.kind = kind
            picture.number = place + group * Self.perGroup
            picture.order = picture.number * 2
            return [
                (recovery.map { [H264Writer.recoveryPoint($0)] } ?? [])
                    + picture.slices(Sequence())
            ]
        }
    }

    package static let all = parameterSets + accessUnits + accessPoints
}

extension OddStream: CustomStringConvertible {
    package var description: String { name }
}
