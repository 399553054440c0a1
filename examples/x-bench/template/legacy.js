export const VAT = 0.16;
