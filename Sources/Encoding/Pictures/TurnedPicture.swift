package import Media

extension RawFrame {
    /// The picture in display orientation: mirrored, then rotated, in its own memory; itself if it is upright.
    ///
    /// The output is 8-bit planar 4:2:0 of even size; other formats are converted first.
    ///
    /// - Throws: when it cannot be converted.
    package func turned(_ orientation: PictureOrientation) throws(EncodingError) -> RawFrame {
        guard orientation != .upright else { return self }
        var turned = try turnedPixels(orientation)
        turned.sampleAspectRatio = sampleAspectRatio?.turned(orientation)
        return turned
    }

    private func turnedPixels(_ orientation: PictureOrientation) throws(EncodingError) -> RawFrame {
        guard format == .yuv420p, width % 2 == 0, height % 2 == 0 else {
            let size = PictureSize(width: max(2, width & ~1), height: max(2, height & ~1))
            var converter = PictureConverter(size: size)
            return try converter.convert(self).turnedPlanes(orientation)
        }
        return turnedPlanes(orientation)
    }

    private func turnedPlanes(_ orientation: PictureOrientation) -> RawFrame {
        let size = PictureSize(width: width, height: height).turned(orientation)
        let buffer = PictureBuffer(width: size.width, height: size.height)
        withExtendedLifetime(owner) {
            for (index, (from, to)) in zip(planes, buffer.planes).enumerated() {
                let divisor = index == 0 ? 1 : 2
                from.turn(
                    orientation, into: to, columns: size.width / divisor,
                    rows: size.height / divisor)
            }
        }
        return buffer.frame(
            captureNanoseconds: captureNanoseconds, durationNanoseconds: durationNanoseconds,
            colour: colour)
    }
}

extension RawFrame.Plane {
    /// Copies the plane's bytes to their transformed positions.
    ///
    /// - Parameters:
    ///   - columns: of the transformed plane.
    ///   - rows: of the transformed plane.
    fileprivate func turn(
        _ orientation: PictureOrientation, into target: RawFrame.Plane, columns: Int, rows: Int
    ) {
        // Offsets in this plane of the transformed one's neighbours, across and down, and of its first pixel.
        var across: Int
        var down: Int
        var corner: Int
        let lastRow = bytesPerRow * ((orientation.isOnItsSide ? columns : rows) - 1)
        let lastColumn = (orientation.isOnItsSide ? rows : columns) - 1
        switch orientation.rotation {
        case .none: (across, down, corner) = (1, bytesPerRow, 0)
        case .quarter: (across, down, corner) = (-bytesPerRow, 1, lastRow)
        case .half: (across, down, corner) = (-1, -bytesPerRow, lastRow + lastColumn)
        case .threeQuarters: (across, down, corner) = (bytesPerRow, -1, lastColumn)
        }
        if orientation.isMirrored {
            // Mirroring precedes rotation.
            if orientation.isOnItsSide {
                down = -down
                corner += orientation.rotation == .quarter ? lastColumn : -lastColumn
            } else {
                across = -across
                corner += orientation.rotation == .none ? lastColumn : -lastColumn
            }
        }
        let source = baseAddress.assumingMemoryBound(to: UInt8.self)
        for row in 0..<rows {
            let line = target.baseAddress.advanced(by: row * target.bytesPerRow)
                .assumingMemoryBound(to: UInt8.self)
            var place = corner + row * down
            for column in 0..<columns {
                line[column] = source[place]
                place += across
            }
        }
    }
}
