"""Files that annotation programs exchange: COCO, FiftyOne, Label Studio, PASCAL VOC."""
