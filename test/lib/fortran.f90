! The module in Fortran 2008: every call, scalars and arrays, both kinds of counts, errors.
program fortran
    use, intrinsic :: iso_fortran_env, only: error_unit
    use mpi_f08
    use tcio
    implicit none

    integer, parameter :: n = 200
    integer :: rank, ranks, i, ierror, wrong, all_wrong, number
    integer(MPI_OFFSET_KIND) :: at
    integer(MPI_COUNT_KIND) :: count
    integer, asynchronous, allocatable :: in(:)
    double precision, target :: grid(4, 6), back(4, 6)
    type(tcio_file) :: fh, never
    type(MPI_Info) :: info
    character(len=1024) :: path
    character(len=MPI_MAX_INFO_VAL) :: value
    logical :: found

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call get_command_argument(1, path)
    wrong = 0

    call tcio_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                   MPI_INFO_NULL, fh, ierror)
    call expect(ierror == MPI_SUCCESS, 'open')
    do i = 0, n - 1
        number = i*ranks + rank
        at = 4_MPI_OFFSET_KIND*number
        call tcio_write_at(fh, at, number, 1, MPI_INTEGER, ierror)
        call expect(ierror == MPI_SUCCESS, 'write_at')
    end do
    call tcio_flush(fh, ierror)
    call expect(ierror == MPI_SUCCESS, 'flush')

    allocate (in(n*ranks))
    in = -1
    count = size(in)
    call tcio_seek(fh, 0_MPI_OFFSET_KIND, TCIO_SEEK_SET, ierror)
    call expect(ierror == MPI_SUCCESS, 'seek')
    call tcio_read(fh, in, count, MPI_INTEGER, ierror)
    call expect(ierror == MPI_SUCCESS, 'read')
    call tcio_tell(fh, at, ierror)
    call expect(ierror == MPI_SUCCESS .and. at == 4*count, 'tell')
    call tcio_fetch(fh, ierror)
    call expect(ierror == MPI_SUCCESS, 'fetch')
    call expect(all(in == [(i, i=0, n*ranks - 1)]), 'numbers')

    do i = 1, 6
        grid(:, i) = rank*100 + [1, 2, 3, 4]*i
    end do
    at = 1000000 + int(rank, MPI_OFFSET_KIND)*192
    call tcio_write_at(fh, at, grid, 24, MPI_DOUBLE_PRECISION, ierror)
    call expect(ierror == MPI_SUCCESS, 'write of two dimensions')
    call tcio_write_at(fh, at, grid(2, :), 6, MPI_DOUBLE_PRECISION, ierror)
    call expect(ierror == MPI_ERR_BUFFER, 'array with gaps')
    back = 0
    call tcio_read_at(fh, at, back(:, 2:3), 8, MPI_DOUBLE_PRECISION, ierror)
    call tcio_fetch(fh)
    call expect(all(back(:, 2:3) == grid(:, 1:2)), 'read of a part')

    call tcio_write(fh, number, -1, MPI_INTEGER, ierror)
    call expect(ierror == MPI_ERR_COUNT, 'negative count')
    call tcio_seek(fh, -1_MPI_OFFSET_KIND, TCIO_SEEK_SET, ierror)
    call expect(ierror == MPI_ERR_ARG, 'seek before zero')
    call tcio_flush(never, ierror)
    call expect(ierror == MPI_ERR_FILE, 'not open')
    call expect(index(tcio_strerror(MPI_ERR_FILE), 'not open') > 0, 'strerror')

    call tcio_get_info(fh, info, ierror)
    call expect(ierror == MPI_SUCCESS, 'get_info')
    call MPI_Info_get(info, 'tcio_visibility', MPI_MAX_INFO_VAL, value, found)
    call expect(found .and. value == 'sync', 'visibility')
    call MPI_Info_free(info)
    call tcio_close(fh, ierror)
    call expect(ierror == MPI_SUCCESS, 'close')
    call tcio_close(fh, ierror)
    call expect(ierror == MPI_ERR_FILE, 'close again')

    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
    if (all_wrong /= 0) error stop 1

contains

    subroutine expect(condition, what)
        logical, intent(in) :: condition
        character(len=*), intent(in) :: what

        if (condition) return
        write (error_unit, *) 'rank', rank, ': ', what
        wrong = wrong + 1
    end subroutine expect
end program fortran
